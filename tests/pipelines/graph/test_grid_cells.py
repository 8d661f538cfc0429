"""Cells of the grid: merged they are the whole graph, and the recall of an approximate one is the true one."""

from pathlib import Path

import numpy as np
import pytest

from mining.knn import knn_graph
from mining.neighbours import Neighbours
from mining.top_k import MISSING
from mining.vectors import Vectors, open_vectors, write_vectors
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.grid_cells import Cell, VectorShard, make_cell, merge_cells, sampled_rows

K = 3


def write_side(folder: Path, name: str, rows: list[int], seed: int, sample: int) -> list[VectorShard]:
    rng = np.random.default_rng(seed)
    shards, first = [], 0
    for number, count in enumerate(rows):
        url = str(folder / f"{name}-{number}.arrow")
        write_vectors(url, np.arange(first, first + count), rng.standard_normal((count, 16), dtype=np.float32))
        shards.append(VectorShard(number, url, count, "", sample))
        first += count
    return shards


def whole(shards: list[VectorShard]) -> Vectors:
    parts = [open_vectors(shard.url) for shard in shards]
    columns = (
        np.concatenate(column) for column in zip(*((p.ids, p.stored, p.inverse_norms) for p in parts), strict=True)
    )
    return Vectors("all", *columns, {})


def merged(folder: Path, source: list[VectorShard], target: list[VectorShard], search: str) -> tuple[list, list]:
    """Neighbours and recalls of every source shard, and of every target shard."""
    grid = [[Cell(str(folder), search == "exact", one, other) for other in target] for one in source]
    for cell in (cell for row in grid for cell in row):
        make_cell(cell, GraphSettings(source=["x"], target=["y"], out="z", k=K, device="cpu", threads=1))
    forward = [merge_cells([cell.url for cell in row], "forward", K) for row in grid]
    backward = [merge_cells([row[place].url for row in grid], "backward", K) for place in range(len(target))]
    return forward, backward


def test_cells_together_are_the_graph_of_all(tmp_path: Path) -> None:
    source, target = write_side(tmp_path, "src", [30, 20], 0, 0), write_side(tmp_path, "tgt", [25, 1, 40], 1, 0)
    expected = knn_graph(whole(source), whole(target), K)
    for found, side in zip(merged(tmp_path, source, target, "exact"), expected, strict=True):
        assert (np.concatenate([part.ids for part, _ in found]) == side.ids).all()
        assert (np.concatenate([part.scores for part, _ in found]) == side.scores).all()
        assert all(check.total == 0 for _, check in found)


def hits(truth: Neighbours, found: Neighbours, rows: np.ndarray) -> int:
    return sum(len(set(truth.ids[row]) & set(found.ids[row]) - {MISSING}) for row in rows.tolist())


def test_recall_of_an_approximate_graph_is_counted(tmp_path: Path) -> None:
    """Shards so large that there are several inverted lists, of vectors without any clusters: much is missed."""
    source, target = write_side(tmp_path, "src", [1500], 0, 200), write_side(tmp_path, "tgt", [4000, 4000], 1, 200)
    forward, backward = merged(tmp_path, source, target, "approximate")
    truth = knn_graph(whole(source), whole(target), K)
    ((found, recall),) = forward
    rows = sampled_rows(whole(source), 200)
    assert recall.total == 200 * K
    assert recall.hits == hits(truth.forward, found, rows)
    assert 0.3 * recall.total < recall.hits < recall.total
    for number, (back, counted) in enumerate(backward):
        own = slice(4000 * number, 4000 * (number + 1))
        exact = Neighbours(truth.backward.ids[own], truth.backward.scores[own])
        assert counted.total == 200 * K
        assert counted.hits == hits(exact, back, sampled_rows(open_vectors(target[number].url), 200))


@pytest.mark.parametrize(
    ("count", "rows"), [(0, []), (1, [0]), (3, [0, 4, 9]), (10, list(range(10))), (99, list(range(10)))]
)
def test_sampled_rows_are_spread(tmp_path: Path, count: int, rows: list[int]) -> None:
    (shard,) = write_side(tmp_path, "src", [10], 0, count)
    assert sampled_rows(open_vectors(shard.url), count).tolist() == rows
