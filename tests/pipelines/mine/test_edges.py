"""Edges of graph shards, with the neighbour means of both ends."""

from pathlib import Path

import numpy as np
import pytest

from mining.margin import Margin
from mining.neighbours import Neighbours, write_neighbours
from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import (
    DIRECTIONS,
    EDGE,
    GraphShard,
    Sides,
    best_first,
    join_means,
    means_of,
    score_edges,
    united,
    write_means,
)
from tests.pipelines.works import begun_work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return begun_work(tmp_path, "pairs")


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
    for direction in DIRECTIONS:
        join_means(work, direction, sides)
    assert means_of(work, "forward").tolist() == [0.625, 0.375, 0.0, 0.5]
    forward, backward = (
        np.concatenate([score_edges(work, shard, Margin.absolute, best_only=True) for shard in side]) for side in sides
    )
    # Source 3 and target 0 have two neighbours each that score the same: the lowest id is proposed.
    assert forward[["source", "target", "directions"]].tolist() == [(0, 2, 1), (1, 2, 1), (3, 0, 1)]
    assert backward[["source", "target", "directions"]].tolist() == [(0, 0, 2), (1, 1, 2), (0, 2, 2)]
    together = united(best_first(np.concatenate([forward, backward])))
    found = together[["source", "target", "directions"]].tolist()
    assert found == [(0, 2, 3), (0, 0, 2), (1, 2, 1), (3, 0, 1), (1, 1, 2)]


def test_means_in_a_store_are_mapped_from_a_copy(tmp_path: Path) -> None:
    work = begin("memory://means/pairs", Request(kind="pairs", configuration={"store": 1}, inputs=[]))
    assert isinstance(work, Work)
    sides = Sides(write_side(tmp_path, "forward", FORWARD, [2, 4]), [])
    for shard in sides.forward:
        write_means(work, shard)
    for direction in DIRECTIONS:
        join_means(work, direction, sides)
    assert means_of(work, "forward").tolist() == [0.625, 0.375, 0.0, 0.5]
    assert means_of(work, "backward").tolist() == []


def test_best_first_breaks_ties_by_source_and_then_target() -> None:
    rows = [(2, 1, 0.5, 0, 0), (1, 9, 0.5, 0, 0), (1, 3, 0.5, 0, 0), (7, 7, 0.75, 0, 0)]
    ordered = best_first(np.array(rows, EDGE))
    assert ordered[["source", "target"]].tolist() == [(7, 7), (1, 3), (1, 9), (2, 1)]
