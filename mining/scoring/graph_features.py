"""What the kNN graph says of a pair: margins, ranks, gaps and hubness in both directions."""

from __future__ import annotations

from typing import NamedTuple

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
    forward, backward = graph
    times = [_times_found(lists, len(own.ids)) for lists, own in ((backward, forward), (forward, backward))]
    return joined_features(
        cosines,
        end_features(forward, times[0], source, target, cosines, least_mean),
        end_features(backward, times[1], target, source, cosines, least_mean),
    )


class EndFeatures(NamedTuple):
    """What is known of pairs at one of their ends, each (pairs,)."""

    mean: NDArray[np.float64]
    rank: NDArray[np.float32]
    gap: NDArray[np.float32]
    spread: NDArray[np.float32]
    hubness: NDArray[np.float32]


def end_features(
    lists: Neighbours,
    times_found: NDArray[np.int64],
    rows: NDArray[np.int64],
    others: NDArray[np.int64],
    cosines: NDArray[np.float32],
    least_mean: float,
) -> EndFeatures:
    """Pairs of `rows` of some lists with `others`, by id; `times_found` says how many lists of the other side each row
    of the lists is in."""
    out = np.empty((3, len(rows)), np.float32)
    _walk(lists.ids, lists.scores, rows, others, cosines, out)
    rank, gap, spread = out
    hubness = np.log1p(times_found).astype(np.float32)
    return EndFeatures(np.maximum(lists.means(), least_mean)[rows], rank, gap, spread, hubness[rows])


def joined_features(cosines: NDArray[np.float32], source: EndFeatures, target: EndFeatures) -> NDArray[np.float32]:
    """(pairs, `NAMES`) of what is known at both ends."""
    columns: list[np.ndarray] = [
        cosines,
        margin_scores(cosines, source.mean, target.mean, Margin.ratio),
        margin_scores(cosines, source.mean, target.mean, Margin.distance),
    ]
    for name in EndFeatures._fields:
        columns += [getattr(source, name), getattr(target, name)]
    return np.stack(columns, axis=1).astype(np.float32)


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


def _times_found(lists: Neighbours, size: int) -> NDArray[np.int64]:
    return np.bincount(lists.ids[lists.ids != MISSING], minlength=size)
