"""The candidates of a graph with what is known at both of their ends, gathered by ranges of ids.

Each file of the graph and of the texts is read once, and its rows go to the range they belong to: forward edges,
backward lists and target texts to ranges of targets, where edges of both directions meet (`join_targets`); from there
edges go with their target's text to ranges of sources, to which forward lists and source texts come, too
(`join_sources`). A range is so small that its own lists and texts fit a worker. Any number of sources may have found
one target, though, and any number of targets one source: edges come in parts, of which no more are taken together than
fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from mining.neighbours import Neighbours
from mining.retrieval import BACKWARD, FORWARD, join_directions
from mining.scoring.graph_features import EndFeatures, end_features, joined_features
from mining.top_k import MISSING
from pipelines.datasets.sentences import read_shard
from pipelines.mine.edges import GraphShard
from pipelines.mine.score_bands import split_by
from pipelines.mine.text_join import TextShard

ROWS = 1 << 15  # of a range
Part = TypeVar("Part")


class ForwardEdges(NamedTuple):
    """Edges as one side found them."""

    source: np.ndarray
    target: np.ndarray
    cosine: np.ndarray


class Lists(NamedTuple):
    """Neighbours of some rows of a side."""

    rows: np.ndarray
    ids: np.ndarray  # (rows, k)
    scores: np.ndarray  # (rows, k)


class TextRows(NamedTuple):
    rows: np.ndarray
    texts: pa.Array  # large strings

    def take(self, places: np.ndarray) -> TextRows:
        return TextRows(self.rows[places], self.texts.take(pa.array(places)))


class UnitedEdges(NamedTuple):
    """Edges of both directions, each once, by source and target."""

    source: np.ndarray
    target: np.ndarray
    cosine: np.ndarray
    directions: np.ndarray


class TargetEnds(NamedTuple):
    """Edges with all that is known at their targets."""

    edges: UnitedEdges
    backward: EndFeatures
    texts: TextRows  # of these targets, each once


class Candidates(NamedTuple):
    """Edges of a range of sources, by source and target, and the texts at their ends."""

    source: np.ndarray
    target: np.ndarray
    cosine: np.ndarray
    directions: np.ndarray
    of_graph: np.ndarray  # (edges, features)
    source_texts: TextRows
    target_texts: TextRows

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The place of each edge's ends among the texts."""
        return np.searchsorted(self.source_texts.rows, self.source), np.searchsorted(
            self.target_texts.rows, self.target
        )


def forward_edges(shard: GraphShard) -> Iterator[tuple[int, ForwardEdges]]:
    """The edges of a forward shard, by range of targets."""
    ids, neighbours = shard.read()
    present = neighbours.ids != MISSING
    edges = ForwardEdges(
        np.repeat(ids, present.sum(axis=1)), neighbours.ids[present].astype(np.int64), neighbours.scores[present]
    )
    for key, rows in split_by(edges.target // ROWS, np.arange(len(edges.target))):
        yield key, ForwardEdges(*(column[rows] for column in edges))


def lists_of(shard: GraphShard) -> Iterator[tuple[int, Lists]]:
    """The lists of a shard, by range of its own side."""
    ids, neighbours = shard.read()
    for key, rows in split_by(ids // ROWS, np.arange(len(ids))):
        yield key, Lists(ids[rows], neighbours.ids[rows].astype(np.int64), neighbours.scores[rows])


def texts_of(shard: TextShard) -> Iterator[tuple[int, TextRows]]:
    """The texts of a shard, by range of its side."""
    texts = read_texts_of(shard)
    ids = np.arange(shard.first, shard.first + shard.rows)
    for key, places in split_by(ids // ROWS, np.arange(len(ids))):
        yield key, TextRows(ids[places], texts.take(pa.array(places)))


def read_texts_of(shard: TextShard) -> pa.Array:
    return read_shard(shard.url, ["text"], shard.checksum)["text"].combine_chunks().cast(pa.large_string())


def join_targets(key: int, parts: Iterable[object], least_mean: float, most: int) -> Iterator[tuple[int, TargetEnds]]:
    """Everything that came to a range of targets, by range of sources.

    `parts` are gone through several times: first counted, then joined for so many ranges of sources together as have
    no more than `most` edges.
    """
    first = key * ROWS
    found = _TargetParts.of(parts, first)
    lists = _local_lists(found.lists, key)
    texts, back = _texts(found.texts), _backward_edges(lists, first)
    for begin, end in _runs(found.edges + Counter((back.source // ROWS).tolist()), most):
        own = (_between(part, begin, end) for part in parts if isinstance(part, ForwardEdges))
        edges = _both_ways([part for part in own if len(part.source)], _between(back, begin, end))
        backward = end_features(lists, found.times, edges.target - first, edges.source, edges.cosine, least_mean)
        yield from _by_sources(edges, backward, texts)


class _TargetParts(NamedTuple):
    """What has a bound of all that came to a range of targets, and counts of the edges that sources found."""

    lists: list[Lists]
    texts: list[TextRows]
    times: np.ndarray  # (ROWS,) how many sources found each target
    edges: Counter[int]  # by range of sources

    @classmethod
    def of(cls, parts: Iterable[object], first: int) -> _TargetParts:
        found = cls([], [], np.zeros(ROWS, np.int64), Counter())
        for part in parts:
            if isinstance(part, Lists):
                found.lists.append(part)
            elif isinstance(part, TextRows):
                found.texts.append(part)
            elif isinstance(part, ForwardEdges):
                found.times[:] += np.bincount(part.target - first, minlength=ROWS)
                found.edges.update(dict(zip(*_counts(part.source // ROWS), strict=True)))
        return found


def _counts(keys: np.ndarray) -> tuple[list[int], list[int]]:
    found, counts = np.unique(keys, return_counts=True)
    return found.tolist(), counts.tolist()


def _runs(counts: Mapping[int, int], most: int) -> Iterator[tuple[int, int]]:
    """Ranges from one to before another that count no more than `most` together, if it is not a single one."""
    begin, taken = 0, 0
    for key in sorted(counts):
        if taken and taken + counts[key] > most:
            yield begin, key
            begin, taken = key, 0
        taken += counts[key]
    if counts:
        yield begin, max(counts) + 1


def _between(edges: ForwardEdges, begin: int, end: int) -> ForwardEdges:
    """Edges of some ranges of sources."""
    ranges = edges.source // ROWS
    rows = (ranges >= begin) & (ranges < end)
    return ForwardEdges(*(column[rows] for column in edges))


def _backward_edges(lists: Neighbours, first: int) -> ForwardEdges:
    """The edges that targets found."""
    target, place = np.nonzero(lists.ids != MISSING)
    return ForwardEdges(lists.ids[target, place], target + first, lists.scores[target, place])


def _both_ways(forward: Sequence[ForwardEdges], backward: ForwardEdges) -> UnitedEdges:
    """Edges by source and target, one that was found in both directions once, with both bits."""
    source, target, cosine = (np.concatenate(columns) for columns in zip(*forward, backward, strict=True))
    bits = np.full(len(source), FORWARD, np.uint8)
    bits[len(source) - len(backward.source) :] = BACKWARD
    order = np.lexsort((target, source))
    edges = UnitedEdges(source[order], target[order], cosine[order], bits[order])
    kept, joined = join_directions(edges.source, edges.target, edges.directions)
    return UnitedEdges(*(column[kept] for column in edges._replace(directions=joined)))


def _by_sources(edges: UnitedEdges, backward: EndFeatures, texts: TextRows) -> Iterator[tuple[int, TargetEnds]]:
    for range_of_sources, rows in split_by(edges.source // ROWS, np.arange(len(edges.source))):
        ends = np.unique(edges.target[rows])
        known = EndFeatures(*(column[rows] for column in backward))
        own = UnitedEdges(*(column[rows] for column in edges))
        yield range_of_sources, TargetEnds(own, known, texts.take(np.searchsorted(texts.rows, ends)))


def join_sources(key: int, parts: Iterable[object], least_mean: float, most: int) -> Iterator[Candidates]:
    """Everything that came to a range of sources, with as many ranges of targets together as have no more than `most`
    edges, if it is not a single one.

    `parts` are gone through twice: first counted, then joined.
    """
    first = key * ROWS
    found = _SourceParts.of(parts, first)
    lists, texts = _local_lists(found.lists, key), _texts(found.texts)
    ends = (part for part in parts if isinstance(part, TargetEnds))
    for taken in together(ends, most, lambda part: len(part.edges.source)):
        edges, backward = _in_order(taken)
        of_targets = _texts([part.texts for part in taken])
        taken.clear()
        of_source = end_features(lists, found.times, edges.source - first, edges.target, edges.cosine, least_mean)
        yield Candidates(*edges, joined_features(edges.cosine, of_source, backward), texts, of_targets)


def _in_order(parts: Sequence[TargetEnds]) -> tuple[UnitedEdges, EndFeatures]:
    """By source and target."""
    edges = UnitedEdges(*(np.concatenate(columns) for columns in zip(*(part.edges for part in parts), strict=True)))
    backward = [np.concatenate(columns) for columns in zip(*(part.backward for part in parts), strict=True)]
    order = np.lexsort((edges.target, edges.source))
    return UnitedEdges(*(column[order] for column in edges)), EndFeatures(*(column[order] for column in backward))


class _SourceParts(NamedTuple):
    """What has a bound of all that came to a range of sources."""

    lists: list[Lists]
    texts: list[TextRows]
    times: np.ndarray  # (ROWS,) how many targets found each source

    @classmethod
    def of(cls, parts: Iterable[object], first: int) -> _SourceParts:
        found = cls([], [], np.zeros(ROWS, np.int64))
        for part in parts:
            if isinstance(part, Lists):
                found.lists.append(part)
            elif isinstance(part, TextRows):
                found.texts.append(part)
            elif isinstance(part, TargetEnds):
                backward = (part.edges.directions & BACKWARD) > 0
                found.times[:] += np.bincount(part.edges.source[backward] - first, minlength=ROWS)
        return found


def together(parts: Iterable[Part], most: int, size: Callable[[Part], int]) -> Iterator[list[Part]]:
    """Parts that follow each other, of no more than `most` together, if it is not a single one.

    Who takes them may let go of them.
    """
    taken: list[Part] = []
    count = 0
    for part in parts:
        if taken and count + size(part) > most:
            yield taken
            taken, count = [], 0
        taken.append(part)
        count += size(part)
    if taken:
        yield taken


def _local_lists(parts: Sequence[Lists], key: int) -> Neighbours:
    """The lists of a range, from its first row on; rows that the graph leaves out have none."""
    lists = Neighbours.none(ROWS, max((part.ids.shape[1] for part in parts), default=1))
    for part in parts:
        lists.ids[part.rows - key * ROWS] = part.ids
        lists.scores[part.rows - key * ROWS] = part.scores
    return lists


def _texts(parts: Sequence[TextRows]) -> TextRows:
    """In order of rows, each once."""
    if not parts:
        return TextRows(np.empty(0, np.int64), pa.array([], pa.large_string()))
    rows, places = np.unique(np.concatenate([part.rows for part in parts]), return_index=True)
    return TextRows(rows, pa.concat_arrays([part.texts for part in parts]).take(pa.array(places)))
