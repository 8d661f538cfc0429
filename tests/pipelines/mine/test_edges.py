"""Edges and their joins, shard by shard, against the same on whole arrays."""

from pathlib import Path

import numpy as np
import pytest

from mining.neighbours import Neighbours, write_neighbours
from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import (
    EDGE,
    GraphShard,
    Sides,
    best_first,
    lookup,
    read_array,
    shard_of,
    united,
    write_means,
    write_proposals,
)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = begin(str(tmp_path / "pairs"), Request(kind="pairs", configuration={}, inputs=[]))
    assert isinstance(made, Work)
    return made


def write_side(
    folder: Path, direction: str, rows: dict[int, list[tuple[int, float]]], ends: list[int]
) -> list[GraphShard]:
    """Graph shards of ids up to each of `ends`, with these neighbours; other ids are missing."""
    shards, first = [], 0
    for number, end in enumerate(ends):
        ids = [i for i in rows if first <= i < end]
        found = Neighbours.none(len(ids), 2)
        for place, i in enumerate(ids):
            for slot, (other, score) in enumerate(rows[i]):
                found.ids[place, slot], found.scores[place, slot] = other, score
        url = str(folder / f"{direction}-{number}.parquet")
        write_neighbours(url, np.array(ids, np.int64), found, {})
        shards.append(GraphShard(direction, number, url, "", first, end))  # type: ignore[arg-type]
        first = end
    return shards


FORWARD = {0: [(2, 0.75), (0, 0.5)], 1: [(2, 0.5), (1, 0.25)], 3: [(0, 0.5), (2, 0.5)]}  # 2 is missing
BACKWARD = {0: [(3, 0.5), (0, 0.5)], 1: [(1, 0.25), (0, 0.125)], 2: [(0, 0.75), (1, 0.5)]}


@pytest.mark.parametrize("ends", [([4], [3]), ([1, 2, 4], [1, 3]), ([3, 4], [1, 2, 3])], ids=str)
def test_proposals_do_not_depend_on_the_cutting(work: Work, tmp_path: Path, ends: tuple[list[int], list[int]]) -> None:
    sides = Sides(
        write_side(tmp_path, "forward", FORWARD, ends[0]), write_side(tmp_path, "backward", BACKWARD, ends[1])
    )
    for shard in [*sides.forward, *sides.backward]:
        write_means(work, shard)
    means = [read_array(work.scratch("means", shard.name)) for shard in sides.forward]
    assert np.concatenate(means).tolist() == [0.625, 0.375, 0.0, 0.5]
    for shard in [*sides.forward, *sides.backward]:
        write_proposals(work, shard, sides, "absolute")
    forward, backward = (
        np.concatenate([united(work, shard, sides) for shard in side])[["source", "target", "directions"]].tolist()
        for side in sides
    )
    # Source 3 and target 0 have two neighbours each that score the same: the lowest id is proposed.
    assert forward == [(0, 2, 3), (1, 2, 1), (3, 0, 1)]
    assert backward == [(0, 0, 2), (1, 1, 2), (0, 2, 3)]


def shards(*bounds: tuple[int, int]) -> list[GraphShard]:
    return [GraphShard("forward", n, "", "", first, end) for n, (first, end) in enumerate(bounds)]


@pytest.mark.parametrize(("ids", "expected"), [([], []), ([0, 4, 5, 9], [0, 0, 1, 2]), ([8, 0], [2, 0])])
def test_lookup_reads_each_shard_that_is_needed_once(ids: list[int], expected: list[int]) -> None:
    three, read = shards((0, 5), (5, 8), (8, 10)), []

    def values(shard: GraphShard) -> np.ndarray:
        read.append(shard.number)
        return np.arange(shard.first, shard.end) * 10

    asked = np.array(ids, np.int64)
    assert shard_of(asked, three).tolist() == expected
    assert lookup(asked, three, values).tolist() == [10 * i for i in ids]
    assert read == sorted(set(expected))


def test_best_first_breaks_ties_by_source_and_then_target() -> None:
    rows = [(2, 1, 0.5, 0, 0), (1, 9, 0.5, 0, 0), (1, 3, 0.5, 0, 0), (7, 7, 0.75, 0, 0)]
    ordered = best_first(np.array(rows, EDGE))
    assert ordered[["source", "target"]].tolist() == [(7, 7), (1, 3), (1, 9), (2, 1)]
