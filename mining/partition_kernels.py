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


class FloatRows(NamedTuple):
    """Vectors as they are stored: the i-th is `stored[places[i]]` times `norms[i]` when of unit length."""

    stored: np.ndarray  # float32
    places: np.ndarray  # (rows,) int32
    norms: np.ndarray  # (rows,) float64
    scales: np.ndarray  # (rows,) float32: of their codes


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
def sweep_codes(
    block: np.ndarray,  # (rows, columns) int32 products, which become similarities by the scales of row and column
    row_scales: np.ndarray,  # (rows,) float32
    column_scales: np.ndarray,
    row_cutoffs: np.ndarray,  # (rows,) float32: what is not above them is not wanted
    column_cutoffs: np.ndarray,  # overwritten
    row_scores: np.ndarray,  # (rows, width) float32, descending
    row_places: np.ndarray,  # (rows, width) int32: places in the block
    column_scores: np.ndarray,
    column_places: np.ndarray,
) -> None:
    """The best of each row and of each column of a block."""
    last = row_scores.shape[1] - 1
    values = np.empty(_STRIDE, np.float32)
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    for i in range(block.shape[0]):
        cutoff, scale = row_cutoffs[i], row_scales[i]
        for start in range(0, block.shape[1], _STRIDE):
            products = block[i, start : start + _STRIDE]
            scales = column_scales[start : start + _STRIDE]
            lowest = column_cutoffs[start : start + _STRIDE]
            width = products.shape[0]
            for j in range(width):
                values[j] = np.float32(products[j]) * (scale * scales[j])
                hits[j] = (values[j] > cutoff) | (values[j] > lowest[j])
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, width)):
                    if hits[j] == 0:
                        continue
                    if values[j] > cutoff:
                        _insert(row_scores, row_places, i, values[j], start + j)
                        cutoff = max(cutoff, row_scores[i, last])
                    if values[j] > lowest[j]:
                        _insert(column_scores, column_places, start + j, values[j], i)
                        lowest[j] = max(lowest[j], column_scores[start + j, last])


@nb.njit(nogil=True, cache=True)
def settle(
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32: by what name they are entered
    x: FloatRows,
    y: FloatRows,
    near_scores: np.ndarray,  # (rows, width): what `sweep_codes` found
    near_places: np.ndarray,
    scores: np.ndarray,  # (all rows, width) float32, descending
    places: np.ndarray,
    k: int,
    bound: np.float32,
    rounding: np.float32,  # of a product of floats
    cutoffs: np.ndarray,  # (rows,) float32: set for rows of which others may be as good, infinite for the rest
) -> None:
    """Enter the best of each row by canonical scores."""
    last = near_scores.shape[1] - 1
    for i in range(rows.shape[0]):
        row = rows[i]
        for slot in range(last + 1):
            if not near_scores[i, slot] > scores[row, k - 1] - bound:
                break
            j = near_places[i, slot]
            if not _holds(places[row], columns[j]) and _quick_cosine(x, i, y, j) > scores[row, k - 1] - rounding:
                _offer(scores, places, row, _cosine(x, i, y, j), columns[j])
        cutoff = scores[row, k - 1] - bound
        cutoffs[i] = cutoff if near_scores[i, last] > cutoff else np.inf


@nb.njit(nogil=True, cache=True)
def enter_rest(
    block: np.ndarray,  # (rows, columns) int32 products
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    x: FloatRows,
    y: FloatRows,
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
    row_cutoffs: np.ndarray,  # (rows,) float32: infinite where all is entered
    column_cutoffs: np.ndarray,
    k: int,
    bound: np.float32,
    rounding: np.float32,
) -> bool:
    """Enter all that reaches the cut-offs by canonical scores, unless it is too much."""
    values = np.empty(_STRIDE, np.float32)
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    allowed = block.size // _TOO_MANY
    any_column = (column_cutoffs < np.inf).any()
    for i in range(block.shape[0]):
        cutoff, scale, row = row_cutoffs[i], x.scales[i], rows[i]
        if cutoff == np.inf and not any_column:
            continue
        for start in range(0, block.shape[1], _STRIDE):
            products = block[i, start : start + _STRIDE]
            scales = y.scales[start : start + _STRIDE]
            lowest = column_cutoffs[start : start + _STRIDE]
            width = products.shape[0]
            for j in range(width):
                values[j] = np.float32(products[j]) * (scale * scales[j])
                hits[j] = (values[j] > cutoff) | (values[j] > lowest[j])
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, width)):
                    if hits[j] == 0:
                        continue
                    allowed -= 1
                    column = start + j
                    quick = _quick_cosine(x, i, y, column) + rounding
                    if not (quick > row_scores[row, k - 1] or quick > column_scores[column, k - 1]):
                        continue
                    score = _cosine(x, i, y, column)
                    _offer(row_scores, row_places, row, score, columns[column])
                    _offer(column_scores, column_places, column, score, row)
                    cutoff = max(cutoff, row_scores[row, k - 1] - bound)
                    lowest[j] = max(lowest[j], column_scores[column, k - 1] - bound)
        if allowed < 0:
            return False
    return True


@nb.njit(nogil=True, cache=True)
def enter(
    block: np.ndarray,  # (rows, columns) float32 similarities
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
        for start in range(0, block.shape[1], _STRIDE):
            values = block[i, start : start + _STRIDE]
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
