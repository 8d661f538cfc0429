"""What the kNN graph says of a pair: margins, ranks, gaps and hubness in both directions."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mining.margin import Margin, margin_scores
from mining.neighbours import KnnGraph, Neighbours
from mining.top_k import MISSING

NAMES = (
    "cosine",
    "ratio margin",
    "distance margin",
    "source neighbour mean",
    "target neighbour mean",
    "forward rank",
    "backward rank",
    "forward gap",
    "backward gap",
    "forward spread",
    "backward spread",
    "source hubness",
    "target hubness",
)


def graph_features(
    graph: KnnGraph,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    cosines: NDArray[np.float32],
    least_mean: float = 0.0,
) -> NDArray[np.float32]:
    """(pairs, `NAMES`) of pairs of rows, which need not be edges of the graph.

    A rank counts from 0 and is k where the other sentence is not among the neighbours; a gap is the cosine less that of
    the nearest *other* neighbour; hubness is the logarithm of how many lists of the other side a sentence is in.
    Among few sentences even the nearest are far, and any pair stands out: no neighbourhood counts as farther than
    `least_mean`.
    """
    a, b = (np.maximum(side.means(), least_mean) for side in graph)
    means = a[source], b[target]
    forward = _direction(graph.forward, source, target, cosines)
    backward = _direction(graph.backward, target, source, cosines)
    hubs = _hubness(graph.backward, len(graph.forward.ids)), _hubness(graph.forward, len(graph.backward.ids))
    columns = [
        cosines,
        margin_scores(cosines, *means, Margin.ratio),
        margin_scores(cosines, *means, Margin.distance),
        *means,
        *(column for pair in zip(forward, backward, strict=True) for column in pair),
        hubs[0][source],
        hubs[1][target],
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _direction(
    neighbours: Neighbours, rows: np.ndarray, others: np.ndarray, cosines: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank, gap and spread of each pair in the lists of one side."""
    out = np.empty((3, len(rows)), np.float32)
    _walk(neighbours.ids, neighbours.scores, rows, others, cosines, out)
    return out[0], out[1], out[2]


@nb.njit(cache=True, nogil=True)
def _walk(
    ids: np.ndarray, scores: np.ndarray, rows: np.ndarray, others: np.ndarray, cosines: np.ndarray, out: np.ndarray
) -> None:
    k = ids.shape[1]
    for pair in range(len(rows)):
        row, rank, rival, last = rows[pair], k, np.float32(np.nan), np.float32(np.nan)
        for place in range(k):
            neighbour = ids[row, place]
            if neighbour == MISSING:
                break
            if neighbour == others[pair]:
                rank = place
            elif np.isnan(rival):
                rival = scores[row, place]
            last = scores[row, place]
        out[0, pair] = rank
        out[1, pair] = cosines[pair] - rival
        out[2, pair] = scores[row, 0] - last if k else np.nan


def _hubness(lists: Neighbours, size: int) -> NDArray[np.float32]:
    ids = lists.ids[lists.ids != MISSING]
    return np.log1p(np.bincount(ids, minlength=size)).astype(np.float32)
