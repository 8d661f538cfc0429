"""The one-pass graph against brute force, for any shape, precision, block size, thread count and engine."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mining import knn
from mining.cell import knn_cell
from mining.errors import InputError
from mining.knn import choose_device, knn_graph, plan_cells
from mining.neighbours import KnnGraph, Neighbours, merge
from mining.proposals import Blocks
from mining.threads import thread_pool
from mining.top_k import MISSING
from mining.vectors import from_array
from tests.mining.oracle import cosine_matrix, excluding, nearest

TORCH_ENGINE = "cpu:0"  # not the literal "cpu", so the code for GPUs runs


def clustered(rng: np.random.Generator, rows: int, dim: int, dtype: type = np.float32) -> np.ndarray:
    """Tight clusters with exact copies among them: near ties and true ties."""
    centres = rng.standard_normal((max(1, rows // 6), dim))
    points = centres[rng.integers(0, len(centres), rows)] + 0.01 * rng.standard_normal((rows, dim))
    points[rng.random(rows) < 0.2] = centres[0]
    return points.astype(dtype)


def assert_exact(graph: KnnGraph, x: np.ndarray, y: np.ndarray, k: int) -> None:
    similarities = cosine_matrix(x, y)
    for found, matrix in ((graph.forward, similarities), (graph.backward, similarities.T)):
        ids, scores = nearest(matrix, k)
        np.testing.assert_array_equal(found.ids[:, : ids.shape[1]], ids)
        np.testing.assert_array_equal(found.scores[:, : ids.shape[1]], scores)
        assert (found.ids[:, ids.shape[1] :] == MISSING).all()
        assert np.isneginf(found.scores[:, ids.shape[1] :]).all()


@pytest.mark.parametrize("device", ["cpu", TORCH_ENGINE])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("rows", "columns", "dim", "k"),
    [(1, 1, 3, 4), (2, 3, 8, 4), (1, 200, 16, 1), (257, 130, 24, 4), (90, 1100, 9, 7)],
)
@pytest.mark.parametrize("kind", ["random", "clustered"])
def test_equals_brute_force(kind: str, rows: int, columns: int, dim: int, k: int, dtype: type, device: str) -> None:
    rng = np.random.default_rng(rows * columns)
    if kind == "random":
        x, y = (rng.standard_normal((n, dim)).astype(dtype) for n in (rows, columns))
    else:
        both = clustered(rng, rows + columns, dim, dtype)
        x, y = both[:rows], both[rows:]
    assert_exact(knn_graph(from_array(x), from_array(y), k, device=device), x, y, k)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(1, 12)),
    k=st.integers(1, 6),
    blocks=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    threads=st.integers(1, 3),
    small_integers=st.booleans(),
)
def test_no_block_size_or_thread_count_changes_anything(
    seed: int, shape: tuple[int, int, int], k: int, blocks: tuple[int, int], threads: int, small_integers: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, dim = shape
    # Small integers give true ties between vectors that differ.
    draw = (lambda n: rng.integers(1, 3, (n, dim))) if small_integers else (lambda n: rng.standard_normal((n, dim)))
    x, y = draw(rows).astype(np.float32), draw(columns).astype(np.float32)
    with thread_pool(threads) as pool:
        graph = knn_cell(from_array(x), from_array(y), k, pool=pool, blocks=Blocks(*blocks))
    with thread_pool(1) as pool:
        whole = knn_cell(from_array(x), from_array(y), k, pool=pool)
    for found, expected in zip(graph, whole, strict=True):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (5, 0), (0, 0)])
def test_an_empty_side_gives_no_neighbours(rows: int, columns: int) -> None:
    graph = knn_graph(from_array(np.ones((rows, 4), np.float32)), from_array(np.ones((columns, 4), np.float32)), 4)
    assert graph.forward.ids.shape == (rows, 4)
    assert graph.backward.ids.shape == (columns, 4)
    assert (graph.forward.ids == MISSING).all()


def test_ties_go_to_the_lowest_id_even_among_many_copies() -> None:
    x = np.tile(np.array([[1.0, 2.0, 3.0]], np.float32), (700, 1))
    graph = knn_graph(from_array(x), from_array(x), 4)
    assert (graph.forward.ids == [0, 1, 2, 3]).all()
    assert (graph.backward.ids == [0, 1, 2, 3]).all()


@pytest.mark.parametrize("device", ["cpu", TORCH_ENGINE])
def test_excluded_rows_take_no_part(device: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((40, 8)).astype(np.float32), rng.standard_normal((50, 8)).astype(np.float32)
    out = np.arange(0, 50, 3)
    graph = knn_graph(from_array(x), excluding(from_array(y), out), 4, device=device)
    kept = np.setdiff1d(np.arange(50), out)
    ids, _ = nearest(cosine_matrix(x, y[kept]), 4)
    np.testing.assert_array_equal(graph.forward.ids, kept[ids])
    assert (graph.backward.ids[out] == MISSING).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.tuples(st.integers(0, 30), st.integers(0, 40)), k=st.integers(1, 5))
def test_partial_graphs_merge_into_the_whole(seed: int, cuts: tuple[int, int], k: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(1, 4, (30, 3)).astype(np.float32), rng.integers(1, 4, (40, 3)).astype(np.float32)
    source, target = from_array(x), from_array(y)
    with thread_pool(1) as pool:
        whole = knn_cell(source, target, k, pool=pool)
        parts = [knn_cell(source, target.rows(*span), k, pool=pool).forward for span in ((0, cuts[1]), (cuts[1], 40))]
    for order in (parts, parts[::-1], [*parts, parts[0]]):
        merged = merge(order, k)
        np.testing.assert_array_equal(merged.ids, whole.forward.ids)
        np.testing.assert_array_equal(merged.scores, whole.forward.scores)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_merge_is_associative_and_commutative(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 4))
    lists = [data.draw(st.dictionaries(st.integers(0, 20), st.integers(0, 3), max_size=5)) for _ in range(3)]
    lists[1] = {i + 100: s for i, s in lists[1].items()}
    lists[2] = {i + 200: s for i, s in lists[2].items()}
    a, b, c = (_one_row(entries, k) for entries in lists)
    expected = sorted(((-s, i) for entries in lists for i, s in entries.items()))[:k]
    for combined in (merge([merge([a, b], k), c], k), merge([a, merge([c, b], k)], k), merge([c, a, b], k)):
        found = combined.ids[0][combined.ids[0] != MISSING].tolist()
        assert found == [i for _, i in expected]


def _one_row(entries: dict[int, int], k: int) -> Neighbours:
    best = sorted(entries.items(), key=lambda item: (-item[1], item[0]))[:k]
    row = Neighbours.none(1, k)
    for slot, (i, score) in enumerate(best):
        row.ids[0, slot], row.scores[0, slot] = i, score
    return row


def test_cells_of_any_plan_merge_into_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((300, 8)).astype(np.float32), rng.standard_normal((400, 8)).astype(np.float32)
    monkeypatch.setattr(knn, "plan_cells", lambda *_: knn.CellPlan(100, 70, Blocks(64, 64)))
    assert_exact(knn_graph(from_array(x), from_array(y), 4), x, y, 4)


@pytest.mark.parametrize("little", [True, False])
def test_torch_is_loaded_for_large_cells_only(little: bool) -> None:
    program = f"""
import sys, numpy as np
from mining import proposals
from mining.knn import choose_device, knn_graph
from mining.vectors import from_array
proposals._LITTLE_WORK = 1e9 if {little} else 0
x = from_array(np.eye(8, dtype=np.float32))
assert choose_device("auto", little={little}) == "cpu"
assert (knn_graph(x, x, 1).forward.ids[:, 0] == np.arange(8)).all()
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == (not little)


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="left has dim 3, but right has dim 4"):
        knn_graph(from_array(np.ones((2, 3), np.float32), "left"), from_array(np.ones((2, 4), np.float32), "right"))


@pytest.mark.parametrize("memory", [300 << 20, 1 << 30, 8 << 30])
def test_the_plan_keeps_its_buffers_under_the_budget(memory: int) -> None:
    plan = plan_cells(3_000_00, 200_000, 1024, 4, memory, threads=2)
    blocks = 4 * plan.blocks.rows * plan.blocks.columns + 4 * 1024 * (plan.blocks.rows + plan.target_panel)
    assert blocks < memory
    assert plan.target_panel >= plan.blocks.columns


def test_a_budget_that_is_too_small_says_so() -> None:
    with pytest.raises(InputError, match=r"raise --memory to 1\d{3}MiB"):
        plan_cells(10_000_000, 10_000_000, 1024, 4, 100 << 20, threads=2)


@pytest.mark.parametrize(("name", "phrase"), [("toaster", "choose auto"), ("cuda", "no GPU"), ("cuda:1", "no GPU")])
def test_a_device_that_is_not_there_is_refused(name: str, phrase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match=phrase):
        choose_device(name)
    assert choose_device("auto") == choose_device("cpu") == "cpu"
