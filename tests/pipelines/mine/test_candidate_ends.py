"""Hubs: a target that every source found, a source that every target found. Edges are joined in parts, with the result
of all at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from mining.retrieval import BACKWARD
from mining.scoring.graph_features import EndFeatures
from mining.top_k import MISSING
from pipelines.mine import candidate_ends
from pipelines.mine.candidate_ends import (
    Candidates,
    ForwardEdges,
    Lists,
    TargetEnds,
    TextRows,
    UnitedEdges,
    join_sources,
    join_targets,
)

ROWS, TARGETS, HUB, SHARD = 64, 16, 3, 500  # of a range, of the side, the hub, sources of a graph shard
K = 2


class Streamed(Iterable[object]):
    """What comes to the range of targets, made again each time it is gone through."""

    def __init__(self, sources: int) -> None:
        self.sources = sources

    def __iter__(self) -> Iterator[object]:
        """The hub is the second neighbour of every source; its own list names the last sources."""
        rows = np.arange(TARGETS)
        yield TextRows(rows, texts(rows))
        found = np.full((TARGETS, K), MISSING, np.int64)
        found[:, 0], found[HUB, 1] = rows, self.sources - 1
        yield Lists(rows, found, np.tile(np.float32([0.9, 0.8]), (TARGETS, 1)))
        for first in range(0, self.sources, SHARD):
            source = np.repeat(np.arange(first, min(first + SHARD, self.sources)), K)
            target = np.where(np.arange(len(source)) % K, HUB, source % TARGETS)
            cosine = (0.5 + (source % 7) / 20 - (target == HUB) / 10).astype(np.float32)
            once = (target != HUB) | (np.arange(len(source)) % K > 0)
            yield ForwardEdges(source[once], target[once], cosine[once])


class StreamedTargets(Iterable[object]):
    """What comes to the range of sources: `HUB` is among the neighbours of every target, others of every 16th."""

    def __init__(self, targets: int) -> None:
        self.targets = targets

    def __iter__(self) -> Iterator[object]:
        rows = np.arange(TARGETS)
        yield TextRows(rows, texts(rows))
        yield Lists(rows, np.stack([rows, rows + 16], 1), np.tile(np.float32([0.9, 0.8]), (TARGETS, 1)))
        for first in range(0, self.targets, candidate_ends.ROWS):
            target = np.repeat(np.arange(first, min(first + candidate_ends.ROWS, self.targets)), 2)
            source = np.where(np.arange(len(target)) % 2, HUB, target % TARGETS)
            once = np.append(np.diff(source + TARGETS * target) != 0, True)
            source, target = source[once], target[once]
            cosine = (0.5 + (target % 7) / 20).astype(np.float32)
            edges = UnitedEdges(source, target, cosine, np.full(len(source), BACKWARD, np.uint8))
            places = np.unique(target)
            yield TargetEnds(
                edges, EndFeatures(cosine.astype(np.float64), *[cosine] * 4), TextRows(places, texts(places))
            )


def texts(rows: np.ndarray) -> pa.Array:
    return pa.array([f"text {row}" for row in rows], pa.large_string())


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


def candidates(targets: int, most: int) -> list[Candidates]:
    return list(join_sources(0, StreamedTargets(targets), 0.0, most))


@pytest.mark.parametrize("most", [1, 130, 400, 2999])
def test_parts_of_a_hub_among_sources_are_the_whole(most: int) -> None:
    (whole,), parts = candidates(3000, 10**6), candidates(3000, most)
    assert len(parts) > 1 and all(len(part.source) <= max(most, 2 * ROWS) for part in parts)
    source, target = (np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target"))
    order = np.lexsort((target, source))
    for name in ("source", "target", "cosine", "directions", "of_graph"):
        joined = np.concatenate([getattr(part, name) for part in parts])[order]
        assert np.array_equal(joined, getattr(whole, name), equal_nan=True)
    for part in [whole, *parts]:
        sources, targets = part.places
        assert part.source_texts.texts.take(pa.array(sources)).equals(texts(part.source))
        assert part.target_texts.texts.take(pa.array(targets)).equals(texts(part.target))


def _most_held(made: Iterable[object]) -> int:
    """Bytes, of arrays and all else, while what is joined is let go of at once."""
    tracemalloc.start()
    try:
        for _ in made:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("join", "streamed"), [(join_targets, Streamed), (join_sources, StreamedTargets)])
def test_memory_does_not_grow_with_the_hub(
    join: Callable[..., Iterator[object]], streamed: type[Streamed | StreamedTargets], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_ends, "ROWS", 1024)
    monkeypatch.setattr(f"{__name__}.SHARD", 2000)

    def held(others: int, most: int) -> int:
        return _most_held(join(0, streamed(others), 0.0, most))

    held(1000, 5000)  # what is compiled
    assert held(60_000, 5000) < 1.3 * held(10_000, 5000)
    assert held(60_000, 10**6) > 5 * held(60_000, 5000)
