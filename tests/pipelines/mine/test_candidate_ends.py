"""A hub: one target that every source found. Its edges are joined in parts, with the result of all at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from mining.top_k import MISSING
from pipelines.mine import candidate_ends
from pipelines.mine.candidate_ends import ForwardEdges, Lists, TargetEnds, TextRows, join_targets

ROWS, TARGETS, HUB, SHARD = 64, 16, 3, 500  # of a range, of the side, the hub, sources of a graph shard
K = 2


class Streamed(Iterable[object]):
    """What comes to the range of targets, made again each time it is gone through."""

    def __init__(self, sources: int) -> None:
        self.sources = sources

    def __iter__(self) -> Iterator[object]:
        """The hub is the second neighbour of every source; its own list names the last sources."""
        rows = np.arange(TARGETS)
        yield TextRows(rows, pa.array([f"text {row}" for row in rows], pa.large_string()))
        found = np.full((TARGETS, K), MISSING, np.int64)
        found[:, 0], found[HUB, 1] = rows, self.sources - 1
        yield Lists(rows, found, np.tile(np.float32([0.9, 0.8]), (TARGETS, 1)))
        for first in range(0, self.sources, SHARD):
            source = np.repeat(np.arange(first, min(first + SHARD, self.sources)), K)
            target = np.where(np.arange(len(source)) % K, HUB, source % TARGETS)
            cosine = (0.5 + (source % 7) / 20 - (target == HUB) / 10).astype(np.float32)
            once = (target != HUB) | (np.arange(len(source)) % K > 0)
            yield ForwardEdges(source[once], target[once], cosine[once])


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_ends, "ROWS", ROWS)


def joined(sources: int, most: int) -> list[tuple[int, TargetEnds]]:
    return list(join_targets(0, Streamed(sources), 0.0, most))


@pytest.mark.parametrize("most", [1, 130, 400, 2999])
def test_parts_of_a_hub_are_the_whole(most: int) -> None:
    whole, parts = joined(3000, 10**6), joined(3000, most)
    assert [key for key, _ in parts] == [key for key, _ in whole] == list(range(-(-3000 // ROWS)))
    for (_, one), (_, other) in zip(parts, whole, strict=True):
        for mine, yours in zip((*one.edges, *one.backward), (*other.edges, *other.backward), strict=True):
            assert np.array_equal(mine, yours, equal_nan=True)
        assert one.texts.texts.equals(other.texts.texts) and np.array_equal(one.texts.rows, other.texts.rows)
    hubness = np.concatenate([ends.backward.hubness[ends.edges.target == HUB] for _, ends in parts])
    assert hubness == pytest.approx(np.log1p(3000))


def test_no_more_edges_are_joined_together_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    both_ways = candidate_ends._both_ways
    monkeypatch.setattr(
        candidate_ends, "_both_ways", lambda *given: (together.append(len((e := both_ways(*given)).source)), e)[1]
    )
    joined(3000, 400)
    assert sum(together) > 5000 and max(together) <= 400


def _most_held(sources: int, most: int) -> int:
    """Bytes, of arrays and all else, while what is joined is let go of at once."""
    tracemalloc.start()
    try:
        for _ in join_targets(0, Streamed(sources), 0.0, most):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_ends, "ROWS", 1024)
    monkeypatch.setattr(f"{__name__}.SHARD", 2000)
    joined(1000, 5000)  # what is compiled
    assert _most_held(60_000, 5000) < 1.3 * _most_held(10_000, 5000)
    assert _most_held(60_000, 10**6) > 5 * _most_held(60_000, 5000)
