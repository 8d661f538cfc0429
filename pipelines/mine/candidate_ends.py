"""The candidates of a graph with what is known at both of their ends, gathered by ranges of ids.

Each file of the graph and of the texts is read once, and its rows go to the range they belong to: forward edges,
backward lists and target texts to ranges of targets, where edges of both directions meet (`join_targets`); from there
edges go with their target's text to ranges of sources, to which forward lists and source texts come, too
(`join_sources`). A range is so small that its edges, texts and features fit a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    """All edges of a range of sources, by source and target, and the texts at their ends."""

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


def join_targets(key: int, parts: Iterable[object], least_mean: float) -> Iterator[tuple[int, TargetEnds]]:
    """Everything that came to a range of targets, by range of sources."""
    given = list(parts)
    lists, first = _local_lists(_of(Lists, given), key), key * ROWS
    texts = _texts(_of(TextRows, given))
    found = _of(ForwardEdges, given)
    back_target, place = np.nonzero(lists.ids != MISSING)
    source = np.concatenate([*(part.source for part in found), lists.ids[back_target, place]])
    target = np.concatenate([*(part.target for part in found), back_target + first])
    cosine = np.concatenate([*(part.cosine for part in found), lists.scores[back_target, place]])
    forward_count = len(source) - len(place)
    directions = np.repeat(np.array([FORWARD, BACKWARD], np.uint8), [forward_count, len(place)])
    times_found = np.bincount(target[:forward_count] - first, minlength=len(lists.ids))
    edges = _united(source, target, cosine, directions)
    backward = end_features(lists, times_found, edges.target - first, edges.source, edges.cosine, least_mean)
    for range_of_sources, rows in split_by(edges.source // ROWS, np.arange(len(edges.source))):
        ends = np.unique(edges.target[rows])
        known = EndFeatures(*(column[rows] for column in backward))
        own = UnitedEdges(*(column[rows] for column in edges))
        yield range_of_sources, TargetEnds(own, known, texts.take(np.searchsorted(texts.rows, ends)))


def join_sources(key: int, parts: Iterable[object], least_mean: float) -> Candidates:
    """Everything that came to a range of sources."""
    given = list(parts)
    lists, first = _local_lists(_of(Lists, given), key), key * ROWS
    found = [_no_ends(), *_of(TargetEnds, given)]  # none of its sources may have a candidate
    edges = [np.concatenate(columns) for columns in zip(*(part.edges for part in found), strict=True)]
    backward = [np.concatenate(columns) for columns in zip(*(part.backward for part in found), strict=True)]
    order = np.lexsort((edges[1], edges[0]))
    source, target, cosine, directions = (column[order] for column in edges)
    own = source - first
    times_found = np.bincount(own[(directions & BACKWARD) > 0], minlength=len(lists.ids))
    of_graph = joined_features(
        cosine,
        end_features(lists, times_found, own, target, cosine, least_mean),
        EndFeatures(*(column[order] for column in backward)),
    )
    texts = _texts(_of(TextRows, given)), _texts([part.texts for part in found])
    return Candidates(source, target, cosine, directions, of_graph, *texts)


def _united(source: np.ndarray, target: np.ndarray, cosine: np.ndarray, directions: np.ndarray) -> UnitedEdges:
    """Edges by source and target, one that was found in both directions once, with both bits."""
    order = np.lexsort((target, source))
    edges = UnitedEdges(source[order], target[order], cosine[order], directions[order])
    kept, joined = join_directions(edges.source, edges.target, edges.directions)
    return UnitedEdges(*(column[kept] for column in edges._replace(directions=joined)))


def _local_lists(parts: Sequence[Lists], key: int) -> Neighbours:
    """The lists of a range, from its first row on; rows that the graph leaves out have none."""
    lists = Neighbours.none(ROWS, max((part.ids.shape[1] for part in parts), default=1))
    for part in parts:
        lists.ids[part.rows - key * ROWS] = part.ids
        lists.scores[part.rows - key * ROWS] = part.scores
    return lists


def _no_ends() -> TargetEnds:
    edges = UnitedEdges(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.float32, np.uint8)))
    return TargetEnds(edges, EndFeatures(np.empty(0, np.float64), *np.empty((4, 0), np.float32)), _texts([]))


def _texts(parts: Sequence[TextRows]) -> TextRows:
    """In order of rows, each once."""
    if not parts:
        return TextRows(np.empty(0, np.int64), pa.array([], pa.large_string()))
    rows, places = np.unique(np.concatenate([part.rows for part in parts]), return_index=True)
    return TextRows(rows, pa.concat_arrays([part.texts for part in parts]).take(pa.array(places)))


def _of(kind: type[Part], parts: Iterable[object]) -> list[Part]:
    return [part for part in parts if isinstance(part, kind)]
