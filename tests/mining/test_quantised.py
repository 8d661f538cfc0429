"""The int8 pass: the same graph as float32 products, or none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mining import proposals, quantised
from mining.bytewise import round_rows
from mining.cell import knn_cell
from mining.neighbours import KnnGraph
from mining.proposals import Blocks
from mining.quantised import quantised_cell
from mining.threads import Threads, thread_pool
from mining.vectors import Vectors, from_array
from tests.mining.oracle import excluding

ROWS, COLUMNS = 2100, 2300


@pytest.fixture(scope="module")
def pool():
    with thread_pool(2) as threads:
        yield threads


def drawn(kind: str, dim: int, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(dim)
    x, y = rng.standard_normal((ROWS, dim)), rng.standard_normal((COLUMNS, dim))
    if kind == "pairs":
        y[:1500] = x[:1500] + 0.5 * y[:1500]
    if kind == "ties":  # copies on both sides, and rows that differ by less than int8 can tell
        x[100:110], y[200:220] = x[7], x[7]
        y[300:400] = y[8] + 1e-4 * y[300:400]
    if kind == "lengths":
        x *= rng.lognormal(0, 3, (ROWS, 1))
    return x.astype(dtype), y.astype(dtype)


def float32_graph(source: Vectors, target: Vectors, k: int, pool: Threads, monkeypatch: pytest.MonkeyPatch) -> KnnGraph:
    with monkeypatch.context() as patch:
        patch.setattr(quantised, "int8_is_fast", lambda: False)
        return knn_cell(source, target, k, pool=pool)


def assert_same(found: KnnGraph | None, expected: KnnGraph) -> None:
    assert found is not None
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_array_equal(ours.scores, theirs.scores)


@pytest.mark.parametrize(
    ("kind", "dim", "k", "dtype", "blocks"),
    [
        ("random", 96, 4, np.float32, Blocks()),
        ("random", 96, 4, np.float32, Blocks(300, 700)),
        ("random", 100, 1, np.float32, Blocks(1000, 1000)),
        ("pairs", 96, 9, np.float32, Blocks()),
        ("pairs", 128, 4, np.float16, Blocks(1000, 600)),
        ("ties", 128, 4, np.float32, Blocks()),
        ("ties", 128, 4, np.float16, Blocks()),
        ("lengths", 96, 4, np.float32, Blocks()),
    ],
)
def test_equals_float32_products(
    kind: str, dim: int, k: int, dtype: type, blocks: Blocks, pool: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = (from_array(rows) for rows in drawn(kind, dim, dtype))
    found = quantised_cell(x, y, k, blocks, pool)
    assert_same(found, float32_graph(x, y, k, pool, monkeypatch))


def test_rows_kept_out_take_no_part(pool: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = drawn("pairs", 96)
    source, target = excluding(from_array(x), np.arange(0, ROWS, 50)), excluding(from_array(y), np.arange(5, 100))
    found = quantised_cell(source, target, 4, Blocks(500, 900), pool)
    assert_same(found, float32_graph(source, target, 4, pool, monkeypatch))


def test_cosines_help_where_bounds_leave_too_many(pool: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (from_array(rows + np.float32(1)) for rows in drawn("random", 64))  # a slight common direction
    search, tried = quantised._Search, []
    monkeypatch.setattr(quantised, "_Search", lambda *given: tried.append(given[-1]) or search(*given))
    found = quantised_cell(x, y, 4, Blocks(), pool)
    assert tried == [False, True]
    assert_same(found, float32_graph(x, y, 4, pool, monkeypatch))


@pytest.mark.parametrize("trouble", ["common direction", "one large dimension", "all the same"])
def test_vectors_that_round_badly_fall_back(trouble: str, pool: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = drawn("random", 64)
    if trouble == "common direction":
        x, y = x + 40, y + 40
    elif trouble == "one large dimension":
        x[:, 0], y[:, 0] = 100, 100
    else:
        x[:], y[:] = x[0], x[0]
    source, target = from_array(x), from_array(y)
    assert quantised_cell(source, target, 4, Blocks(), pool) is None
    monkeypatch.setattr(proposals, "_LITTLE_WORK", 0)
    monkeypatch.setattr(quantised, "int8_is_fast", lambda: True)
    assert_same(knn_cell(source, target, 4, pool=pool), float32_graph(source, target, 4, pool, monkeypatch))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    dim=st.integers(1, 300),
    tail=st.sampled_from([0.0, 1.0, 3.0]),
    scale=st.sampled_from([1e-10, 1.0, 1e10]),
)
def test_what_rounding_loses_is_never_more_than_said(seed: int, dim: int, tail: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = (scale * rng.standard_normal((20, dim)) * rng.lognormal(0, tail, (20, dim))).astype(np.float32)
    inverse = 1 / np.linalg.norm(rows.astype(np.float64), axis=1)
    codes, scales, lost = np.empty(rows.shape, np.int8), np.empty(20, np.float32), np.empty(20, np.float32)
    round_rows(rows, inverse, codes, scales, lost)
    unit = rows * inverse[:, None]
    true = np.linalg.norm(unit - codes * scales[:, None].astype(np.float64), axis=1)
    assert (true <= lost).all()
    assert (lost <= 1.01 * true + 1e-5).all()  # and not much less than said


def test_half_floats_are_widened_exactly(pool: Threads) -> None:
    """Subnormal halves decide the neighbours here."""
    x, y = drawn("pairs", 96)
    tiny = np.float16(3e-6)
    x, y = (x * tiny).astype(np.float16), (y * tiny).astype(np.float16)
    found = quantised_cell(from_array(x), from_array(y), 4, Blocks(), pool)
    wide = from_array(x.astype(np.float32)), from_array(y.astype(np.float32))
    assert_same(found, knn_cell(*wide, 4, pool=pool))
