"""Retrieval: which of the graph's edges become pairs.

Rows count from 0 on each side; the graph's ids must be row numbers of the other side, as those of a single file are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numba as nb
import numpy as np

from mining.margin import Margin, margin_scores
from mining.neighbours import KnnGraph, Neighbours
from mining.top_k import MISSING

FORWARD, BACKWARD = 1, 2  # bits of `Edges.directions`
DIRECTION_NAMES = np.array(["", "f", "b", "fb"])


class Retrieval(StrEnum):
    """`max` (LASER's default) takes the best edges of both directions greedily, each sentence at most once."""

    forward = "forward"
    backward = "backward"
    intersect = "intersect"
    max = "max"


@dataclass(frozen=True)
class Edges:
    """Scored source-target pairs, best first, ties by lowest source and then target row."""

    source: np.ndarray  # (edges,) int64
    target: np.ndarray  # (edges,) int64
    scores: np.ndarray  # (edges,) float32 margins
    cosines: np.ndarray  # (edges,) float32
    directions: np.ndarray  # (edges,) uint8: FORWARD, BACKWARD or both

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, chosen: np.ndarray | slice) -> Edges:
        """Some of the edges, by mask, row numbers or slice."""
        return Edges(
            self.source[chosen], self.target[chosen], self.scores[chosen], self.cosines[chosen], self.directions[chosen]
        )


def candidates(graph: KnnGraph, margin: Margin = Margin.ratio) -> Edges:
    """Every edge of the graph once, with its margin and the directions it was found in."""
    return _edges(graph, margin, best_only=False)


def retrieve(graph: KnnGraph, retrieval: Retrieval = Retrieval.max, margin: Margin = Margin.ratio) -> Edges:
    """The pairs of a graph: each sentence proposes its best-margin neighbour, `retrieval` decides which are taken."""
    proposed = _edges(graph, margin, best_only=True)
    if retrieval == Retrieval.forward:
        return proposed.take((proposed.directions & FORWARD) > 0)
    if retrieval == Retrieval.backward:
        return proposed.take((proposed.directions & BACKWARD) > 0)
    if retrieval == Retrieval.intersect:
        return proposed.take(proposed.directions == FORWARD | BACKWARD)
    rows, columns = len(graph.forward.ids), len(graph.backward.ids)
    return proposed.take(greedy_matching(proposed.source, proposed.target, rows, columns))


def greedy_matching(source: np.ndarray, target: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Take edges in order whenever both ends are still free; returns the mask of those taken."""
    return take_free(source, target, no_bits(rows), no_bits(columns))


def no_bits(rows: int) -> np.ndarray:
    """One bit for each row, none of them set."""
    return np.zeros(-(-rows // 8), np.uint8)


@nb.njit(cache=True)
def take_free(
    source: np.ndarray,  # (edges,) row numbers, best edge first
    target: np.ndarray,
    source_taken: np.ndarray,  # a bit for each row; those of taken edges are set
    target_taken: np.ndarray,
) -> np.ndarray:
    """One stretch of a greedy matching, of which earlier ones have set bits; returns the mask of edges taken."""
    taken = np.zeros(len(source), np.bool_)
    for edge in range(len(source)):
        row, column = source[edge], target[edge]
        row_bit, column_bit = np.uint8(1 << (row & 7)), np.uint8(1 << (column & 7))
        if not source_taken[row >> 3] & row_bit and not target_taken[column >> 3] & column_bit:
            source_taken[row >> 3] |= row_bit
            target_taken[column >> 3] |= column_bit
            taken[edge] = True
    return taken


def _edges(graph: KnnGraph, margin: Margin, *, best_only: bool) -> Edges:
    a, b = graph.forward.means(), graph.backward.means()
    rows, others, scores, cosines = scored_edges(graph.forward, a, b, margin, best_only)
    columns, sources, back_scores, back_cosines = scored_edges(graph.backward, b, a, margin, best_only)
    directions = np.repeat(np.array([FORWARD, BACKWARD], np.uint8), [len(rows), len(columns)])
    everything = Edges(
        np.concatenate([rows, sources]),
        np.concatenate([others, columns]),
        np.concatenate([scores, back_scores]),
        np.concatenate([cosines, back_cosines]),
        directions,
    )
    return united(everything)


def scored_edges(
    neighbours: Neighbours, means: np.ndarray, other_means: np.ndarray, margin: Margin, best_only: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Row, other row, margin and cosine of each edge of one direction, or of each row's best edge."""
    exists = neighbours.ids != MISSING
    ids = np.where(exists, neighbours.ids, 0)
    scores = margin_scores(
        neighbours.scores, means[:, None], other_means[ids] if len(other_means) else np.zeros(ids.shape), margin
    )
    rows = np.broadcast_to(np.arange(len(ids))[:, None], ids.shape)
    if best_only and ids.size:
        scores = np.where(exists, scores, -np.inf)
        best = np.lexsort((neighbours.ids, -scores), axis=1)[:, :1]
        keep = np.zeros(ids.shape, bool)
        np.put_along_axis(keep, best, True, 1)
        exists &= keep
    return rows[exists], neighbours.ids[exists], scores[exists], neighbours.scores[exists]


def united(edges: Edges) -> Edges:
    """Edges found in both directions become one, with both bits set; best first."""
    order = np.lexsort((edges.target, edges.source, -edges.scores))
    edges = edges.take(order)
    kept, directions = join_directions(edges.source, edges.target, edges.directions)
    return replace(edges, directions=directions).take(kept)


def join_directions(source: np.ndarray, target: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of edges in an order in which the same edge of both directions comes twice in a row: the mask of the first ones,
    and the bits of both."""
    again = np.zeros(len(source), bool)
    again[1:] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
    joined = directions.copy()
    joined[:-1][again[1:]] |= directions[1:][again[1:]]
    return ~again, joined
