"""Compiled kernels of the int8 pass, see `mining/quantised.py`: rounding, cut-offs, candidates, rescoring."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numba.extending import overload

from mining.top_k import dot, insert_in_order

LOWEST = np.float32(-1e30)  # below every score; kernels with fastmath must not meet infinities
_GROUPS = 16  # for each neighbour that is looked for, whose maxima are the first cut-offs
_WORD = 8  # flags that are looked at together


class SearchSide(NamedTuple):
    """The rows of one side that take part in the graph, and what is known of their neighbours so far."""

    stored: np.ndarray  # (rows of the file, dim) float32, or half floats as uint16
    inverse: np.ndarray  # (rows of the file,) float64 inverse lengths
    places: np.ndarray  # (rows,) int32: which rows of the file these are
    scales: np.ndarray  # (rows,) float32: unit vector = scale x codes, but for rounding
    bounds: np.ndarray  # (rows,) float32: product of codes and cosine differ by at most the two error bounds
    tops: np.ndarray  # (rows, k) float32, descending: what the best cosines so far are at least
    cutoffs: np.ndarray  # (rows,) float32: neighbours have score + error bound of at least this


class ColumnView(NamedTuple):
    """What one thread knows of the columns' neighbours, among the rows that it walked since threads last agreed."""

    tops: np.ndarray  # (columns, k) float32, as those of a side
    cutoffs: np.ndarray  # (columns,) float32


class CandidateEdges(NamedTuple):
    """Pairs that may belong to the graph."""

    rows: np.ndarray  # int32
    columns: np.ndarray  # int32
    scores: np.ndarray  # float32, from the codes


@nb.njit(nogil=True, cache=True, fastmath=True)
def round_rows(rows: np.ndarray, inverse: np.ndarray, codes: np.ndarray, scales: np.ndarray, lost: np.ndarray) -> None:
    """Codes and scale of each float32 row's unit vector, and the length of what they lack, rounded up."""
    for i in range(rows.shape[0]):
        peak = np.float32(0)
        for j in range(rows.shape[1]):
            peak = max(peak, abs(rows[i, j]))
        step = max(peak / np.float32(127), np.float32(1e-30))
        steps = np.float32(1) / step
        squares = np.float32(0)
        for j in range(rows.shape[1]):
            code = np.rint(rows[i, j] * steps)
            codes[i, j] = np.int8(code)
            gap = rows[i, j] - code * step
            squares += gap * gap
        scales[i] = step * inverse[i]
        lost[i] = np.sqrt(squares) * inverse[i] * 1.001 + 2.0**-20  # more than float32 sums are wrong by


@nb.njit(nogil=True, cache=True, inline="always")
def _raise(tops: np.ndarray, value: np.float32) -> None:
    """Put a value into a descending list, dropping the last."""
    slot = tops.shape[0] - 1
    if value <= tops[slot]:
        return
    while slot > 0 and tops[slot - 1] < value:
        tops[slot] = tops[slot - 1]
        slot -= 1
    tops[slot] = value


@nb.njit(nogil=True, cache=True, fastmath=True)
def seed_rows(block: np.ndarray, rows: SearchSide, top: int, columns: SearchSide, left: int) -> None:
    """First cut-offs of some rows by a block of int32 products.

    The k-th largest of the maxima of disjoint groups is at most the k-th largest of all: a cut-off without branches.
    """
    k = rows.tops.shape[1]
    groups = _GROUPS * k
    maxima, tops = np.empty(groups, np.float32), np.empty(k, np.float32)
    for i in range(block.shape[0]):
        scale, bound = rows.scales[top + i], rows.bounds[top + i]
        maxima[:], tops[:] = LOWEST, LOWEST
        for start in range(0, block.shape[1], groups):
            line = block[i, start : start + groups]
            scales = columns.scales[left + start : left + start + groups]
            bounds = columns.bounds[left + start : left + start + groups]
            for j in range(line.shape[0]):
                maxima[j] = max(maxima[j], scales[j] * np.float32(line[j]) * scale - bounds[j])
        for group in range(groups):
            _raise(tops, maxima[group])
        rows.cutoffs[top + i] = max(rows.cutoffs[top + i], tops[-1] - 2 * bound)


@nb.njit(nogil=True, cache=True, fastmath=True)
def seed_columns(block: np.ndarray, rows: SearchSide, top: int, columns: SearchSide, left: int) -> None:
    """The same for the columns of a block."""
    width, k = block.shape[1], rows.tops.shape[1]
    groups = _GROUPS * k
    maxima, tops = np.full((groups, width), LOWEST, np.float32), np.full((width, k), LOWEST, np.float32)
    scales = columns.scales[left : left + width]
    for i in range(block.shape[0]):
        scale, bound, best, line = rows.scales[top + i], rows.bounds[top + i], maxima[i % groups], block[i]
        for j in range(width):
            best[j] = max(best[j], scales[j] * np.float32(line[j]) * scale - bound)
    for group in range(groups):
        for j in range(width):
            _raise(tops[j], maxima[group, j])
    for j in range(width):
        cutoff = tops[j, -1] - 2 * columns.bounds[left + j]
        columns.cutoffs[left + j] = max(columns.cutoffs[left + j], cutoff)


@nb.njit(nogil=True, cache=True, fastmath=True)
def collect(
    block: np.ndarray,  # (rows, columns) int32 products of codes
    first: int,
    rows: SearchSide,
    top: int,
    columns: SearchSide,
    left: int,
    view: ColumnView,
    by_cosines: bool,
    slack: np.float32,
    found: CandidateEdges,
    count: int,
) -> tuple[int, int]:
    """Append what reaches the cut-off of its row or its column, from row `first` of the block on.

    With what is among the best so far the cut-offs rise, by its cosine or by what that is at least: they soon rule out
    nearly everything. Returns the row to go on with, as it stops where a row might not fit any more, and how many
    candidates there are.
    """
    width = block.shape[1]
    row_scratch, column_scratch = _scratch(rows), _scratch(columns)
    scales, bounds = columns.scales[left : left + width], columns.bounds[left : left + width]
    cutoffs, column_tops = view.cutoffs[left : left + width], view.tops[left : left + width]
    # Once: to take one from a tuple counts a reference.
    row_scales, row_bounds, row_cutoffs, row_tops = rows.scales, rows.bounds, rows.cutoffs, rows.tops
    row_stored, row_inverse, row_places = rows.stored, rows.inverse, rows.places
    column_stored, column_inverse, column_places = columns.stored, columns.inverse, columns.places
    found_rows, found_columns, found_scores = found
    flags = np.zeros(-(-width // _WORD) * _WORD, np.uint8)
    words = flags.view(np.uint64)  # hits are rare: most of these are zero
    for i in range(first, block.shape[0]):
        if count + width > found_rows.shape[0]:
            return i, count
        row = top + i
        scale, bound, cutoff = row_scales[row], row_bounds[row], row_cutoffs[row]
        _flag(block[i], scales, bounds, cutoffs, scale, bound, cutoff, flags)
        for word in range(words.shape[0]):
            if words[word] == 0:
                continue
            for j in range(word * _WORD, (word + 1) * _WORD):
                if flags[j] == 0:
                    continue
                score = scales[j] * np.float32(block[i, j]) * scale
                if score + bounds[j] < cutoff and score + bound < cutoffs[j]:  # which have risen since
                    continue
                found_rows[count], found_columns[count], found_scores[count] = row, left + j, score
                count += 1
                if score >= cutoff + bound or score >= cutoffs[j] + bounds[j]:
                    cosine = score - bound - bounds[j]
                    if by_cosines:
                        place, other = row_places[row], column_places[left + j]
                        x = _widened(row_stored, place, row_scratch)
                        y = _widened(column_stored, other, column_scratch)
                        cosine = _near_cosine(x, y, row_inverse[place] * column_inverse[other]) - slack
                    _raise(row_tops[row], cosine)
                    _raise(column_tops[j], cosine)
                    cutoff = max(cutoff, row_tops[row, -1] - bound)
                    cutoffs[j] = max(cutoffs[j], column_tops[j, -1] - bounds[j])
        row_cutoffs[row] = cutoff
    return block.shape[0], count


@nb.njit(nogil=True, cache=True, fastmath=True)
def _flag(
    line: np.ndarray,
    scales: np.ndarray,
    bounds: np.ndarray,
    cutoffs: np.ndarray,
    scale: np.float32,
    bound: np.float32,
    cutoff: np.float32,
    flags: np.ndarray,
) -> None:
    """Which products of a row reach its cut-off or that of their column, in one loop that vectorises."""
    for j in range(line.shape[0]):
        score = scales[j] * np.float32(line[j]) * scale
        flags[j] = (score + bounds[j] >= cutoff) | (score + bound >= cutoffs[j])


@nb.njit(nogil=True, cache=True)
def agree(tops: np.ndarray, cutoffs: np.ndarray, columns: SearchSide, first: int, last: int) -> None:
    """Put together what the threads found of some columns, (threads, columns, ..): all go on from the best of it."""
    for j in range(first, last):
        for thread in range(tops.shape[0]):
            for slot in range(tops.shape[2]):
                _raise(columns.tops[j], tops[thread, j, slot])
            tops[thread, j] = LOWEST
        columns.cutoffs[j] = max(columns.cutoffs[j], columns.tops[j, -1] - columns.bounds[j])
        cutoffs[:, j] = columns.cutoffs[j]


@nb.njit(nogil=True, cache=True)
def prune(found: CandidateEdges, count: int, rows: SearchSide, columns: SearchSide) -> int:
    """Close up the candidates that still bound a cut-off; how many there are now."""
    kept = 0
    for n in range(count):
        i, j, score = found.rows[n], found.columns[n], found.scores[n]
        if score + columns.bounds[j] >= rows.cutoffs[i] or score + rows.bounds[i] >= columns.cutoffs[j]:
            found.rows[kept], found.columns[kept], found.scores[kept] = i, j, score
            kept += 1
    return kept


@nb.njit(nogil=True, cache=True)
def group_by(
    keys: np.ndarray,  # (threads, capacity) int32: row or column of each candidate
    others: np.ndarray,  # its column or row
    scores: np.ndarray,
    counts: np.ndarray,  # (threads,) candidates
    side: SearchSide,
    other: SearchSide,
) -> tuple[np.ndarray, np.ndarray]:
    """Where the candidates of each row of a side begin, and the flat numbers of those that bound its cut-off."""
    starts = np.zeros(side.cutoffs.shape[0] + 1, np.int64)
    for thread in range(keys.shape[0]):
        for n in range(counts[thread]):
            key = keys[thread, n]
            starts[key + 1] += scores[thread, n] + other.bounds[others[thread, n]] >= side.cutoffs[key]
    for key in range(side.cutoffs.shape[0]):
        starts[key + 1] += starts[key]
    order, place = np.empty(starts[-1], np.int64), starts[:-1].copy()
    for thread in range(keys.shape[0]):
        for n in range(counts[thread]):
            key = keys[thread, n]
            if scores[thread, n] + other.bounds[others[thread, n]] >= side.cutoffs[key]:
                order[place[key]] = thread * keys.shape[1] + n
                place[key] += 1
    return starts, order


@nb.njit(nogil=True, cache=True)
def rescore(
    side: SearchSide,
    other: SearchSide,
    starts: np.ndarray,
    order: np.ndarray,
    others: np.ndarray,  # flat: row of the other side of each candidate
    approximate: np.ndarray,  # flat: its score from the codes
    first: int,
    last: int,
    slack: np.float32,
    scores: np.ndarray,  # (rows, k) float32, out: canonical, descending
    places: np.ndarray,  # (rows, k) int32, out: rows of the file, ties by the lowest
) -> None:
    """The k best of each row's candidates by canonical cosine, computed only where the bound leaves a chance."""
    k = scores.shape[1]
    own_scratch, other_scratch, tops = _scratch(side), _scratch(other), np.empty(k, np.float32)
    # Once: to take one from a tuple counts a reference.
    own_stored, own_inverse, own_places, own_bounds = side.stored, side.inverse, side.places, side.bounds
    other_stored, other_inverse, other_places, other_bounds = other.stored, other.inverse, other.places, other.bounds
    for key in range(first, last):
        tops[:] = LOWEST
        for n in range(starts[key], starts[key + 1]):
            _raise(tops, approximate[order[n]])
        place = own_places[key]
        own, inverse, bound = _widened(own_stored, place, own_scratch), own_inverse[place], own_bounds[key]
        for promising in (True, False):  # first those that rule out most of the others
            for n in range(starts[key], starts[key + 1]):
                score, column = approximate[order[n]], others[order[n]]
                if (score >= tops[k - 1]) != promising:
                    continue
                if score + bound + other_bounds[column] < scores[key, k - 1]:
                    continue
                place = other_places[column]
                vector, length = _widened(other_stored, place, other_scratch), inverse * other_inverse[place]
                if not promising and _near_cosine(own, vector, length) + slack < scores[key, k - 1]:
                    continue
                insert_in_order(scores[key], places[key], np.float32(dot(own, vector) * length), place)


@nb.njit(nogil=True, cache=True, fastmath=True)
def _near_cosine(x: np.ndarray, y: np.ndarray, inverse: float) -> np.float32:
    """The cosine of two vectors in float32, in any order of summation; `inverse` is that of the lengths' product."""
    product = np.float32(0)
    for n in range(x.shape[0]):
        product += x[n] * y[n]
    return np.float32(product * inverse)


@nb.njit(nogil=True, cache=True, inline="always")
def _scratch(side: SearchSide) -> np.ndarray:
    return np.empty(side.stored.shape[1], np.float32)


def _widened(stored: np.ndarray, row: int, scratch: np.ndarray) -> np.ndarray:
    """A stored row as float32: itself, or half floats widened into `scratch`."""
    raise NotImplementedError("only compiled code calls this")


@overload(_widened, inline="always")
def _widened_compiled(stored, row, scratch):  # type: ignore[no-untyped-def]
    if stored.dtype == nb.float32:
        return lambda stored, row, scratch: stored[row]

    def widen(stored, row, scratch):  # type: ignore[no-untyped-def]
        bits = scratch.view(np.uint32)
        for j in range(stored.shape[1]):
            half = np.uint32(stored[row, j])
            bits[j] = ((half & np.uint32(0x7FFF)) << np.uint32(13)) | ((half & np.uint32(0x8000)) << np.uint32(16))
        for j in range(stored.shape[1]):
            scratch[j] *= np.float32(2.0**112)  # the difference of the exponents' bias: exact, subnormals included
        return scratch

    return widen
