"""Cells of a partitioned graph: exact where vectors share a cell, whatever the keys, and bounded where they crowd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining import partitioned
from mining.knn import knn_graph
from mining.neighbours import KnnGraph, Neighbours, merge
from mining.partition_kernels import absorb
from mining.partitioned import KeyGraph, KnownScores, nearest_of_rows
from mining.row_cells import REACH, CellRows, RowCells, comparisons
from mining.threads import Threads, thread_pool
from mining.top_k import MISSING
from mining.vectors import Vectors, from_array

K = 3


def vectors(rows: int, seed: int, dtype: str = "float32") -> Vectors:
    return from_array(np.random.default_rng(seed).standard_normal((rows, 16)).astype(dtype))


def cells(rows: int, seed: int, count: int = 10, copies: int = 3) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return np.stack([draw.choice(count, copies, replace=False) for _ in range(rows)]).astype(np.int32)


def key_graph(
    x: Vectors, y: Vectors, a: np.ndarray, b: np.ndarray, k: int, pool: Threads, known: KnownScores | None = None
) -> KeyGraph:
    """Where all rows of a cell meet."""
    return partitioned.key_graph(x, y, RowCells.meeting(a), RowCells.meeting(b), k, pool, known)


def sharing(x: Vectors, y: Vectors, a: np.ndarray, b: np.ndarray) -> Neighbours:
    """The neighbours of x among the rows of y that share a cell with it, one row at a time."""
    best = Neighbours.none(len(x), K)
    for row in range(len(x)):
        near = np.flatnonzero(np.isin(b, a[row][a[row] >= 0]).any(1))
        others = Vectors("", y.ids[near], y.stored[near], y.inverse_norms[near], {})
        found = knn_graph(x.rows(row, row + 1), others, K).forward
        best.ids[row], best.scores[row] = found.ids[0], found.scores[0]
    return best


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_that_share_a_cell_are_compared_exactly(threads: int, dtype: str) -> None:
    x, y, a, b = vectors(80, 0, dtype), vectors(60, 1, dtype), cells(80, 2), cells(60, 3)
    a[5] = -1
    with thread_pool(threads) as pool:
        graph = key_graph(x, y, a, b, K, pool).graph
    for found, expected in zip(graph, (sharing(x, y, a, b), sharing(y, x, b, a)), strict=True):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)
    assert (graph.forward.ids[5] == MISSING).all()


# Copies of each vector, and how far they are apart: below, at and above what bytes can tell.
COPIES = [(10, 0.3), (10, 0.05), (10, 0.001), (60, 0.02), (600, 0.01)]


@pytest.mark.parametrize(("copies", "apart"), COPIES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_near_copies_are_compared_exactly(
    copies: int, apart: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "multiplies_bytes", lambda dim: True)
    draw = np.random.default_rng(copies)
    centers = np.repeat(draw.standard_normal((600 // copies, 32)), copies, axis=0)
    x, y = (from_array((centers + apart * draw.standard_normal(centers.shape)).astype(dtype)) for _ in range(2))
    one_cell = np.zeros((600, 1), np.int32)
    with thread_pool(1) as pool:
        graph = key_graph(x, y, one_cell, one_cell, K, pool).graph
    for found, expected in zip(graph, knn_graph(x, y, K), strict=True):
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(found.ids, expected.ids)


def test_few_copies_need_no_product_of_floats_and_many_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "multiplies_bytes", lambda dim: True)
    whole: list[bool] = []
    near = partitioned.enter_near
    monkeypatch.setattr(partitioned, "enter_near", lambda *given: (whole.append(near(*given)), whole[-1])[1])
    draw = np.random.default_rng(0)
    one_cell = np.zeros((600, 1), np.int32)
    for copies in (10, 600):
        x = np.repeat(draw.standard_normal((600 // copies, 32)), copies, axis=0) + 1e-3 * draw.standard_normal(
            (600, 32)
        )
        with thread_pool(1) as pool:
            key_graph(from_array(x.astype(np.float32)), from_array(x.astype(np.float32)), one_cell, one_cell, K, pool)
    assert whole == [True] * 3 + [False] * 3


def test_one_cell_for_all_is_the_exact_graph() -> None:
    x, y = vectors(200, 0), vectors(150, 1)
    with thread_pool(2) as pool:
        found = key_graph(x, y, np.zeros((200, 1), np.int32), np.zeros((150, 1), np.int32), K, pool)
    assert found.comparisons == 200 * 150
    for side, expected in zip(found.graph, knn_graph(x, y, K), strict=True):
        np.testing.assert_array_equal(side.ids, expected.ids)


@pytest.mark.parametrize("bytewise", [True, False])
@pytest.mark.parametrize("told", [True, False], ids=["told what others found", "on its own"])
@pytest.mark.parametrize("copies", [1, 4])
def test_keys_together_are_one_key(copies: int, told: bool, bytewise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of a vector have equal scores, of which the lowest ids are wanted whatever key has them."""
    if not bytewise:
        monkeypatch.setattr(partitioned, "multiplies_bytes", lambda dim: False)
    x, y, a, b = vectors(80, 0), vectors(60, 1), cells(80, 2), cells(60, 3)
    y = from_array(y.stored[np.arange(60) // copies])
    key_of_cell = np.arange(10) % 3
    joined = KnnGraph(Neighbours.none(80, K), Neighbours.none(60, K))
    entered = 0
    with thread_pool(1) as pool:
        whole = key_graph(x, y, a, b, K, pool).graph
        for key in range(3):
            mine, theirs = (np.where(key_of_cell[side] == key, side, -1) for side in (a, b))
            known = KnownScores(*(side.scores[:, -1] for side in joined)) if told else None
            part = key_graph(x, y, mine, theirs, K, pool, known).graph
            entered += sum(int((side.ids != MISSING).sum()) for side in part)
            absorb(*joined.forward, np.arange(80), *part.forward)
            absorb(*joined.backward, np.arange(60), *part.backward)
    for one, other in zip(whole, joined, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)
    assert (entered < 900) == told, "what is no better than elsewhere is left out"


LISTS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.1, 0.2, 0.3])), max_size=5, unique_by=lambda x: x[0])


@given(st.lists(LISTS, min_size=1, max_size=4))
def test_absorbing_is_merging(parts: list[list[tuple[int, float]]]) -> None:
    """An id has the same score in every list, as cosines have."""
    lists = []
    for part in parts:
        best = sorted({(-((found % 3) / 10), found) for found, _ in part})[:K]
        near = Neighbours.none(1, K)
        for slot, (score, found) in enumerate(best):
            near.ids[0, slot], near.scores[0, slot] = found, -score
        lists.append(near)
    whole = Neighbours.none(1, K)
    for near in lists:
        absorb(*whole, np.array([0]), *near)
    expected = merge(lists, K)
    np.testing.assert_array_equal(whole.ids, expected.ids)
    np.testing.assert_array_equal(whole.scores, expected.scores)


def test_a_crowded_cell_is_cut_and_copies_still_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "_LARGEST", 64)
    monkeypatch.setattr(partitioned, "_COPIES_ROWS", 20)
    same = from_array(np.ones((1000, 16), np.float32))
    one_cell = np.zeros((1000, 1), np.int32)
    with thread_pool(1) as pool:
        found = key_graph(same, same, one_cell, one_cell, K, pool)
    assert found.comparisons == 1000 * 20
    assert (found.graph.forward.ids != MISSING).all()
    assert (found.graph.backward.ids != MISSING).all()


@pytest.mark.parametrize(("rows", "columns"), [(5, 1000), (1000, 5)])
def test_a_few_rows_meet_all_of_a_crowd(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "_LARGEST", 64)
    x, y = vectors(rows, 0), vectors(columns, 1)
    with thread_pool(1) as pool:
        found = key_graph(x, y, np.zeros((rows, 1), np.int32), np.zeros((columns, 1), np.int32), K, pool)
    for side, expected in zip(found.graph, knn_graph(x, y, K), strict=True):
        np.testing.assert_array_equal(side.ids, expected.ids)


def test_a_cell_is_cut_where_it_is_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned, "_LARGEST", 100)
    draw = np.random.default_rng(0)
    far = np.repeat(np.eye(2, 16), 100, axis=0) + 0.01 * draw.standard_normal((200, 16))
    x = from_array(far.astype(np.float32))
    one_cell = np.zeros((200, 1), np.int32)
    with thread_pool(1) as pool:
        found = key_graph(x, x, one_cell, one_cell, K, pool)
    np.testing.assert_array_equal(found.graph.forward.ids, knn_graph(x, x, K).forward.ids)
    assert found.comparisons <= 2 * 100 * 100


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("rows", "columns", "k"), [(30, 9000, 12), (7, 3, 5), (0, 5, 2), (5, 0, 2)])
def test_few_rows_alone_have_the_neighbours_of_the_graph(rows: int, columns: int, k: int, dtype: str) -> None:
    x, y = vectors(rows, 0, dtype), vectors(columns, 1, dtype)
    y.inverse_norms[3:5] = np.nan  # rows without direction
    for threads in (1, 2):
        with thread_pool(threads) as pool:
            found = nearest_of_rows(x, y, k, pool)
        expected = knn_graph(x, y, k).forward
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("block", [1, 16])
@pytest.mark.parametrize("panel", [64, 2048])
def test_rows_meet_within_reach(block: int, panel: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs within reach are compared, and as few others as blocks of rows allow."""
    monkeypatch.setattr(partitioned, "BLOCK_ROWS", block)
    monkeypatch.setattr(partitioned, "_PANEL_COLUMNS", panel)
    draw = np.random.default_rng(0)
    x, y = vectors(80, 0), vectors(150, 1)
    sides = [
        RowCells(np.zeros((rows, 1), np.int32), draw.integers(0, REACH, (rows, 1)).astype(np.uint8))
        for rows in (80, 150)
    ]
    within = sides[0].detours.astype(int) + sides[1].detours.T <= REACH
    with thread_pool(1) as pool:
        found = partitioned.key_graph(x, y, *sides, K, pool)
    assert within.sum() <= found.comparisons <= within.sum() + (block - 1) * 150
    assert found.comparisons == comparisons(*map(CellRows.of, sides), block)
    cosines = np.where(within, (x.unit(np.arange(80)) @ y.unit(np.arange(150)).T), -np.inf)
    best = -np.sort(-cosines, axis=1)[:, :K]
    if block == 1:
        np.testing.assert_allclose(found.graph.forward.scores, best, atol=1e-6)
    assert (found.graph.forward.scores >= best - 1e-6).all()
