"""One cell of the similarity matrix: the exact graph of some source rows and some target rows."""

from __future__ import annotations

import numpy as np

from mining.neighbours import KnnGraph, Neighbours, merge
from mining.proposals import Blocks, error_bound, is_little, multiply, propose_compiled, unit_rows
from mining.threads import Threads
from mining.top_k import MISSING, cosines, refine
from mining.vectors import Vectors

SLACK = 4  # candidates beyond k: the more, the fewer rows are searched again
_SETTLE_ROWS = 512
_AGAIN_ROWS = 256


def knn_cell(
    source: Vectors,
    target: Vectors,
    k: int,
    *,
    pool: Threads,
    blocks: Blocks = Blocks(),  # noqa: B008 - an immutable tuple
    device: str = "cpu",
) -> KnnGraph:
    """The k nearest of each other by cosine, exact: every row is proven by the error bound or searched again."""
    if not len(source) or not len(target):
        return KnnGraph(Neighbours.none(len(source), k), Neighbours.none(len(target), k))
    if device == "cpu" and not is_little(source, target):
        from mining.quantised import int8_is_fast, quantised_cell

        pool.torch()
        graph = quantised_cell(source, target, k, blocks, pool) if int8_is_fast() else None
        if graph is not None:
            return graph
    if device == "cpu":
        found = propose_compiled(source, target, k + SLACK, blocks, pool)
    else:
        from mining.device_proposals import propose_torch

        found = propose_torch(source, target, k + SLACK, blocks, device)
    return KnnGraph(
        _rescore(source, target, found.row_scores, found.row_places, k, pool),
        _rescore(target, source, found.column_scores, found.column_places, k, pool),
    )


def _rescore(x: Vectors, y: Vectors, scores: np.ndarray, places: np.ndarray, k: int, pool: Threads) -> Neighbours:
    """The best k of the candidates by canonical score, searching again the rows that are not proven."""
    bound = error_bound(x.dim)
    rescored, certain = rerank(x, y, scores, places, k, pool, bound)
    doubtful = np.flatnonzero(~certain)
    multiplier = None if is_little(x, y) else pool
    for first in range(0, len(doubtful), _AGAIN_ROWS):
        rows = doubtful[first : first + _AGAIN_ROWS]
        again = _search_again(x, y, rows, rescored.scores[rows, -1] - np.float32(bound), k, multiplier)
        rescored.ids[rows], rescored.scores[rows] = again
    return rescored


def rerank(
    x: Vectors, y: Vectors, scores: np.ndarray, places: np.ndarray, k: int, pool: Threads, bound: float
) -> tuple[Neighbours, np.ndarray]:
    """The best k of each row's candidates by canonical score, and which rows are proven, given the scores' `bound`.

    `scores` and `places` are overwritten.
    """
    certain = np.empty(len(x), bool)

    def work(thread: int, start: int, stop: int) -> None:
        for first in range(start, stop, _SETTLE_ROWS):
            part = slice(first, min(first + _SETTLE_ROWS, stop))
            rows = np.asarray(x.stored[part], np.float32)
            others, inverse, local, used = _float32_candidates(y, places[part])
            refine(rows, x.inverse_norms[part], others, inverse, scores[part], local, k, bound, certain[part])
            places[part] = local if used is None else _original_places(local, used)

    pool.over_rows(len(x), work)
    ids = np.where(places[:, :k] == MISSING, MISSING, y.ids[places[:, :k]])
    return Neighbours(ids, np.ascontiguousarray(scores[:, :k])), certain


def _float32_candidates(y: Vectors, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """What `refine` reads of the other side: the stored rows, or float32 copies of those that half floats need.

    With their inverse lengths, the candidates' places in them, and which rows the copies are of.
    """
    if y.stored.dtype == np.float32:
        return np.asarray(y.stored), y.inverse_norms, places, None
    used = np.unique(places[places != MISSING])
    local = np.where(places == MISSING, MISSING, np.searchsorted(used, places)).astype(np.int32)
    return y.stored[used].astype(np.float32), y.inverse_norms[used], local, used


def _original_places(local: np.ndarray, used: np.ndarray) -> np.ndarray:
    return np.where(local == MISSING, MISSING, used[local]) if len(used) else local


def _search_again(
    x: Vectors, y: Vectors, rows: np.ndarray, cutoffs: np.ndarray, k: int, multiplier: Threads | None
) -> Neighbours:
    """Exact search of a few rows: every column whose product reaches the row's cut-off gets its canonical score."""
    best = Neighbours.none(len(rows), k)
    stored = x.stored[rows].astype(np.float32)
    unit = stored * x.inverse_norms[rows, None].astype(np.float32)
    for left in range(0, len(y), Blocks().columns):
        columns = unit_rows(y, left, left + Blocks().columns)
        product = np.empty((len(rows), len(columns)), np.float32)
        multiply(unit, columns, product, multiplier)
        which, places = np.nonzero(product >= cutoffs[:, None])
        others = y.rows(left, left + Blocks().columns)
        exact = np.empty(len(which), np.float32)
        needed, local = np.unique(places, return_inverse=True)
        cosines(
            stored, x.inverse_norms[rows], others.stored[needed].astype(np.float32), others.inverse_norms[needed],
            which, local, exact,
        )  # fmt: skip
        best = merge([best, _best_of_pairs(which, others.ids[places], exact, len(rows), k)], k)
    return best


def _best_of_pairs(which: np.ndarray, ids: np.ndarray, scores: np.ndarray, rows: int, k: int) -> Neighbours:
    """The best k of each row from a list of (row, id, score)."""
    order = np.lexsort((ids, -scores, which))
    which, ids, scores = which[order], ids[order], scores[order]
    rank = np.arange(len(which)) - np.searchsorted(which, which)
    kept = rank < k
    result = Neighbours.none(rows, k)
    result.ids[which[kept], rank[kept]] = ids[kept]
    result.scores[which[kept], rank[kept]] = scores[kept]
    return result
