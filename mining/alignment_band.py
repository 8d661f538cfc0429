"""The cells that an alignment looks at: a band around a path, and what is known of the pairs of sentences inside it.

A position (i, j) lies before sentence i of the source and sentence j of the target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Band(NamedTuple):
    """Cells `lo[i] <= j < hi[i]` for i from 0 to the number of source sentences, stored one row behind another."""

    lo: np.ndarray  # (source + 1,) int64, never falling
    hi: np.ndarray  # (source + 1,) int64, never falling
    start: np.ndarray  # (source + 2,) int64, where each row begins

    @property
    def cells(self) -> int:
        return int(self.start[-1])


def full_band(source: int, target: int) -> Band:
    return make_band(np.zeros(source + 1, np.int64), np.full(source + 1, target + 1, np.int64))


def make_band(lo: np.ndarray, hi: np.ndarray) -> Band:
    return Band(lo, hi, np.concatenate([[0], np.cumsum(hi - lo)]).astype(np.int64))


def band_around(path: np.ndarray, source: int, target: int, half_width: int) -> Band:
    """All positions within `half_width` of a path of positions (points, 2) from (0, 0) to (source, target)."""
    rows = np.arange(source + 1)
    # Both ends of each row's stretch of the path, and straight lines between its points.
    first = np.searchsorted(path[:, 0], rows, "left")
    last = np.searchsorted(path[:, 0], rows, "right") - 1
    on_path = path[np.minimum(first, len(path) - 1), 0] == rows
    between = np.interp(rows, path[:, 0], path[:, 1])
    low = np.where(on_path, path[np.minimum(first, len(path) - 1), 1], np.floor(between)).astype(np.int64)
    high = np.where(on_path, path[np.maximum(last, 0), 1], np.ceil(between)).astype(np.int64)
    lo = np.maximum(low[np.maximum(rows - half_width, 0)] - half_width, 0)
    hi = np.minimum(high[np.minimum(rows + half_width, source)] + half_width, target) + 1
    return make_band(lo, hi)


class Products(NamedTuple):
    """Pairs of sentences that beads inside a band can hold, one row behind another.

    Without words of the documents `source_words` and `target_words` are empty.
    """

    lo: np.ndarray
    start: np.ndarray
    values: np.ndarray  # float32, inner products of the sentences; empty where spans have vectors of their own
    source_words: np.ndarray  # float32, how much of the source sentence's words lies in the target sentence
    target_words: np.ndarray  # float32, the other way around


_NONE = np.empty(0, np.float32)


def product_rows(band: Band, target: int, beads: int) -> Products:
    """The rows of all pairs that beads of a band can hold, still without values."""
    source = len(band.lo) - 1
    rows = np.arange(source)
    lo = band.lo[np.maximum(rows - beads + 1, 0)]
    hi = np.minimum(band.hi[np.minimum(rows + beads, source)], target)
    start = np.concatenate([[0], np.cumsum(np.maximum(hi - lo, 0))]).astype(np.int64)
    return Products(lo, start, _NONE, _NONE, _NONE)


def sentence_products(band: Band, source: np.ndarray, target: np.ndarray, beads: int) -> Products:
    """`source` and `target` are (sizes, sentences, dim); with more than one size there are no products."""
    products = product_rows(band, target.shape[1], beads)
    if len(source) > 1:
        return products
    values = np.empty(products.start[-1], np.float32)
    _multiply(source[0], target[0], products.lo, products.start, values)
    return products._replace(values=values)


@njit(nogil=True, cache=True, fastmath=True)
def _multiply(x: np.ndarray, y: np.ndarray, lo: np.ndarray, start: np.ndarray, values: np.ndarray) -> None:
    dim = x.shape[1]
    for row in range(len(start) - 1):
        for place in range(start[row + 1] - start[row]):
            total = np.float32(0)
            other = y[lo[row] + place]
            for d in range(dim):
                total += x[row, d] * other[d]
            values[start[row] + place] = total
