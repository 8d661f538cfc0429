"""Compiled kernels of a partitioned graph: the best of rows and columns by bytes, floats and canonical scores.

Bytes propose; what they cannot tell apart gets its canonical score while the block is there.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from mining.top_k import MISSING, dot, insert_in_order

_STRIDE = 256
_TOO_MANY = 4  # beyond one in so many pairs a whole product of floats is faster
_GROUPS = 8  # for each neighbour that is looked for, whose maxima are the first cut-offs


class FloatRows(NamedTuple):
    """Vectors as they are stored: the i-th is `stored[places[i]]` times `norms[i]` when of unit length."""

    stored: np.ndarray  # float32
    places: np.ndarray  # (rows,) int32
    norms: np.ndarray  # (rows,) float64
    scales: np.ndarray  # (rows,) float32: of their codes

    def part(self, rows: slice) -> FloatRows:
        return FloatRows(self.stored, self.places[rows], self.norms[rows], self.scales[rows])


@nb.njit(nogil=True, cache=True, inline="always")
def _insert(scores: np.ndarray, places: np.ndarray, row: int, score: np.float32, place: int) -> None:
    """Put a score into the list of a row, by score and then by lowest place, dropping the last.

    `top_k.insert_in_order` does the same with a list of its own; slices of the lists would take a quarter of the time.
    """
    slot = scores.shape[1] - 1
    while slot > 0 and (
        scores[row, slot - 1] < score or (scores[row, slot - 1] == score and places[row, slot - 1] > place)
    ):
        scores[row, slot] = scores[row, slot - 1]
        places[row, slot] = places[row, slot - 1]
        slot -= 1
    scores[row, slot] = score
    places[row, slot] = place


@nb.njit(nogil=True, cache=True, inline="always")
def _offer(scores: np.ndarray, places: np.ndarray, row: int, score: np.float32, place: int) -> None:
    """Insert what belongs into the list of a row and is not there."""
    last = scores.shape[1] - 1
    if score < scores[row, last] or (score == scores[row, last] and places[row, last] < place):
        return
    for slot in range(last + 1):
        if places[row, slot] == place:
            return
    _insert(scores, places, row, score, place)


@nb.njit(nogil=True, cache=True, inline="always")
def _holds(places: np.ndarray, place: int) -> bool:
    for slot in range(places.shape[0]):  # noqa: SIM110 - compiled
        if places[slot] == place:
            return True
    return False


@nb.njit(nogil=True, cache=True, fastmath=True)
def _quick_cosine(x: FloatRows, row: int, y: FloatRows, column: int) -> np.float32:
    """In float32, at a third of the time."""
    left, right = x.stored[x.places[row]], y.stored[y.places[column]]
    total = np.float32(0)
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total * np.float32(x.norms[row]) * np.float32(y.norms[column])


@nb.njit(nogil=True, cache=True, inline="always")
def _cosine(x: FloatRows, row: int, y: FloatRows, column: int) -> np.float32:
    """The canonical one."""
    norms = x.norms[row] * y.norms[column]
    return np.float32(dot(x.stored[x.places[row]], y.stored[y.places[column]]) * norms)


@nb.njit(nogil=True, cache=True)
def _flag(
    products: np.ndarray,
    scales: np.ndarray,
    lowest: np.ndarray,
    scale: np.float32,
    cutoff: np.float32,
    hits: np.ndarray,
) -> None:
    """Which products are above the cut-off of their row or of their column, in a loop of its own, which vectorises."""
    for j in range(products.shape[0]):
        hits[j] = np.float32(products[j]) * (scale * scales[j]) > min(cutoff, lowest[j])


@nb.njit(nogil=True, cache=True)
def _kth(values: np.ndarray, k: int) -> np.float32:
    """The k-th largest."""
    best = np.full(k, -np.inf, np.float32)
    for value in values:
        if value > best[k - 1]:
            slot = k - 1
            while slot > 0 and best[slot - 1] < value:
                best[slot] = best[slot - 1]
                slot -= 1
            best[slot] = value
    return best[k - 1]


@nb.njit(nogil=True, cache=True)
def _seed_row(products: np.ndarray, scale: np.float32, scales: np.ndarray, k: int) -> np.float32:
    """What the k-th of a row's similarities is at least: the k-th of the maxima of disjoint groups."""
    groups = _GROUPS * k
    maxima = np.full(groups, -np.inf, np.float32)
    for start in range(0, products.shape[0], groups):
        values, own = products[start : start + groups], scales[start : start + groups]
        for j in range(values.shape[0]):
            maxima[j] = max(maxima[j], np.float32(values[j]) * (scale * own[j]))
    return _kth(maxima, k)


@nb.njit(nogil=True, cache=True)
def _seed_columns(
    block: np.ndarray,
    row_scales: np.ndarray,
    column_scales: np.ndarray,
    k: int,
    bound: np.float32,
    cutoffs: np.ndarray,  # overwritten where there are none
) -> None:
    """The same for the columns of a block."""
    groups, width = _GROUPS * k, cutoffs.shape[0]
    maxima = np.full((groups, width), -np.inf, np.float32)
    for i in range(block.shape[0]):
        scale, best, products = row_scales[i], maxima[i % groups], block[i]
        for j in range(width):
            best[j] = max(best[j], np.float32(products[j]) * (scale * column_scales[j]))
    for j in range(width):
        if cutoffs[j] == -np.inf:
            cutoffs[j] = _kth(maxima[:, j], k) - 2 * bound


@nb.njit(nogil=True, cache=True)
def enter_codes(
    block: np.ndarray,  # (rows, columns or more) int32 products, contiguous: similarities by the scales of both
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    x: FloatRows,
    y: FloatRows,
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
    k: int,
    bound: np.float32,  # by how much a product of codes can be too small
    rounding: np.float32,  # of a product of floats
) -> bool:
    """Enter by canonical scores what can be among the k best of its row or column.

    Gives up where that is too much, as among copies of one sentence, and returns whether all is entered.
    """
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    count = columns.shape[0]
    allowed = block.shape[0] * count // _TOO_MANY
    cutoffs = column_scores[:, k - 1] - bound
    if cutoffs.min() == -np.inf:
        _seed_columns(block, x.scales, y.scales, k, bound, cutoffs)
    for i in range(block.shape[0]):
        row, scale = rows[i], x.scales[i]
        cutoff = row_scores[row, k - 1] - bound
        if cutoff == -np.inf:
            cutoff = _seed_row(block[i, :count], scale, y.scales, k) - 2 * bound
        for start in range(0, count, _STRIDE):
            products = block[i, start : min(start + _STRIDE, count)]
            width = products.shape[0]
            _flag(products, y.scales[start : start + width], cutoffs[start : start + width], scale, cutoff, hits)
            hits[width:] = 0
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(start + 8 * eight, start + min(8 * eight + 8, width)):
                    value = np.float32(block[i, j]) * (scale * y.scales[j])
                    if not value > min(cutoff, cutoffs[j]):  # which have risen since
                        continue
                    if _holds(row_places[row], columns[j]) or _holds(column_places[j], row):
                        continue  # a score is offered to both
                    allowed -= 1
                    lowest = min(row_scores[row, k - 1], column_scores[j, k - 1])
                    if not value > lowest and not _quick_cosine(x, i, y, j) + rounding > lowest:
                        continue
                    score = _cosine(x, i, y, j)
                    _offer(row_scores, row_places, row, score, columns[j])
                    _offer(column_scores, column_places, j, score, row)
                    cutoff = max(cutoff, row_scores[row, k - 1] - bound)
                    cutoffs[j] = max(cutoffs[j], column_scores[j, k - 1] - bound)
        if allowed < 0:
            return False
    return True


@nb.njit(nogil=True, cache=True)
def enter(
    block: np.ndarray,  # (rows, columns or more) float32 similarities
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,  # (all rows, width) int32
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
) -> None:
    """Enter every similarity of a block into the lists of its row and of its column, each pair once."""
    last = row_scores.shape[1] - 1
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    cutoffs = column_scores[:, last].copy()
    for i in range(block.shape[0]):
        row = rows[i]
        cutoff = row_scores[row, last]
        for start in range(0, columns.shape[0], _STRIDE):
            values = block[i, start : min(start + _STRIDE, columns.shape[0])]
            lowest = cutoffs[start : start + _STRIDE]
            width = values.shape[0]
            for j in range(width):
                hits[j] = (values[j] > cutoff) | (values[j] > lowest[j])
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, width)):
                    if hits[j] == 0:
                        continue
                    if values[j] > cutoff:
                        _offer(row_scores, row_places, row, values[j], columns[start + j])
                        cutoff = row_scores[row, last]
                    if values[j] > lowest[j]:
                        _offer(column_scores, column_places, start + j, values[j], row)
                        lowest[j] = column_scores[start + j, last]


@nb.njit(nogil=True, cache=True)
def absorb(
    ids: np.ndarray,  # (all rows, k) int64, best first; overwritten
    scores: np.ndarray,  # (all rows, k) float32
    rows: np.ndarray,  # (rows,) which rows the part is of
    part_ids: np.ndarray,  # (rows, k)
    part_scores: np.ndarray,
) -> None:
    """Merge partial lists into whole ones: by score, ties by lowest id, each id once; as `neighbours.merge`."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for slot in range(part_ids.shape[1]):
            found, score = part_ids[i, slot], part_scores[i, slot]
            if found == MISSING:
                break
            if not _holds(ids[row], found):
                insert_in_order(scores[row], ids[row], score, found)
