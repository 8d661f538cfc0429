"""Compiled top-k kernels: the sweep over a similarity block, and the canonical scores that decide every tie.

A matrix product rounds differently with block shape, thread count and device. The sweep therefore only proposes
candidates; `refine` gives each the cosine of its two stored vectors, summed in float64 in one fixed order, and orders
them by that score and then by lowest place. The same neighbours come out whatever made the proposals.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from mining.lane_sums import LANES, lane_sums

MISSING = -1  # the place of a neighbour that does not exist; its score is -inf

_STRIDE = 64  # columns tested at once: the test vectorises, the insertions behind it are rare


@nb.njit(nogil=True, cache=True, inline="always")
def insert(scores: np.ndarray, places: np.ndarray, score: np.float32, place: int) -> None:
    """Put a score into a descending list, dropping the last."""
    slot = scores.shape[0] - 1
    while slot > 0 and scores[slot - 1] < score:
        scores[slot] = scores[slot - 1]
        places[slot] = places[slot - 1]
        slot -= 1
    scores[slot] = score
    places[slot] = place


@nb.njit(nogil=True, cache=True, inline="always")
def insert_in_order(scores: np.ndarray, places: np.ndarray, score: np.float32, place: int) -> None:
    """Put a neighbour into a list ordered by score and then by lowest place, dropping the last."""
    slot = scores.shape[0] - 1
    if scores[slot] > score or (scores[slot] == score and places[slot] != MISSING and places[slot] < place):
        return
    while slot > 0 and (scores[slot - 1] < score or (scores[slot - 1] == score and places[slot - 1] > place)):
        scores[slot] = scores[slot - 1]
        places[slot] = places[slot - 1]
        slot -= 1
    scores[slot] = score
    places[slot] = place


@nb.njit(nogil=True, cache=True)
def sweep(
    block: np.ndarray,  # (rows, columns) float32 similarities
    row_scores: np.ndarray,  # (rows, width) float32, descending
    row_places: np.ndarray,  # (rows, width) int32
    column_scores: np.ndarray,  # (columns, width) float32, descending
    column_places: np.ndarray,  # (columns, width) int32
    column_cutoffs: np.ndarray,  # (columns,) float32: at least the last score of each column's list
    first_row: int,
    first_column: int,
) -> None:
    """Enter every similarity of the block into the lists of its row and of its column."""
    rows, columns = block.shape
    last = row_scores.shape[1] - 1
    for i in range(rows):
        cutoff = row_scores[i, last]
        for start in range(0, columns, _STRIDE):
            values = block[i, start : start + _STRIDE]
            cutoffs = column_cutoffs[start : start + _STRIDE]
            hits = 0
            for j in range(values.shape[0]):
                hits += (values[j] > cutoff) | (values[j] > cutoffs[j])
            if hits == 0:
                continue
            for j in range(values.shape[0]):
                if values[j] > cutoff:
                    insert(row_scores[i], row_places[i], values[j], first_column + start + j)
                    cutoff = row_scores[i, last]
                if values[j] > cutoffs[j]:
                    column = start + j
                    insert(column_scores[column], column_places[column], values[j], first_row + i)
                    cutoffs[j] = max(cutoffs[j], column_scores[column, last])


@nb.njit(nogil=True, cache=True)
def dot(x: np.ndarray, y: np.ndarray) -> float:
    """The canonical dot product: float64 (products of float32 are exact in it), one fixed order of summation."""
    total = lane_sums(x, y)
    for i in range(x.shape[0] // LANES * LANES, x.shape[0]):
        total += np.float64(x[i]) * np.float64(y[i])
    return total


@nb.njit(nogil=True, cache=True)
def norms(rows: np.ndarray, out: np.ndarray) -> None:
    """Euclidean length of each float32 row, in float64."""
    for i in range(rows.shape[0]):
        out[i] = np.sqrt(dot(rows[i], rows[i]))


@nb.njit(nogil=True, cache=True)
def cosines(
    x: np.ndarray,  # (pairs or more, dim) float32
    x_inverse: np.ndarray,  # float64 inverse lengths
    y: np.ndarray,
    y_inverse: np.ndarray,
    rows: np.ndarray,  # (pairs,) which row of x
    places: np.ndarray,  # (pairs,) which row of y
    out: np.ndarray,  # (pairs,) float32
) -> None:
    """The canonical cosine of each pair."""
    for i in range(rows.shape[0]):
        row, place = rows[i], places[i]
        out[i] = dot(x[row], y[place]) * (x_inverse[row] * y_inverse[place])


@nb.njit(nogil=True, cache=True)
def refine(
    x: np.ndarray,  # (rows, dim) float32
    x_inverse: np.ndarray,
    y: np.ndarray,  # (columns, dim) float32
    y_inverse: np.ndarray,
    scores: np.ndarray,  # (rows, width) float32 candidates, descending; overwritten
    places: np.ndarray,  # (rows, width) int32; overwritten
    k: int,
    bound: float,
    certain: np.ndarray,  # (rows,) bool: set where no column left out can belong to the best k
) -> None:
    """Give candidates their canonical cosine and order them; say whether the best k are proven.

    A column that is not among the candidates had at most the last candidate's proposed score, which is within
    `bound` of the truth.
    """
    width = scores.shape[1]
    for i in range(scores.shape[0]):
        complete = places[i, width - 1] == MISSING
        ceiling = scores[i, width - 1] + bound
        for slot in range(width):
            place = places[i, slot]
            if place == MISSING:
                continue
            score = np.float32(dot(x[i], y[place]) * (x_inverse[i] * y_inverse[place]))
            target = slot
            while target > 0 and (
                scores[i, target - 1] < score or (scores[i, target - 1] == score and places[i, target - 1] > place)
            ):
                scores[i, target] = scores[i, target - 1]
                places[i, target] = places[i, target - 1]
                target -= 1
            scores[i, target] = score
            places[i, target] = place
        certain[i] = complete or scores[i, k - 1] > ceiling
