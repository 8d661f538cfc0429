"""Compiled kernels of monotone alignment: the best path of beads through a band, and what each bead's share of all is.

A position (i, j) lies before sentence i of the source and sentence j of the target. A bead of n and m sentences leads
from (i - n, j - m) to (i, j); n + m is bounded, and the cells that are looked at are a `Band`: for each i a range of j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

_NEVER = -1e30
_FAR = 25.0  # e to the minus this is nothing beside 1


class Band(NamedTuple):
    """Cells `lo[i] <= j < hi[i]` for i from 0 to the number of source sentences, stored one row behind another."""

    lo: np.ndarray  # (source + 1,) int64, never falling
    hi: np.ndarray  # (source + 1,) int64, never falling
    start: np.ndarray  # (source + 2,) int64, where each row begins

    @property
    def cells(self) -> int:
        return int(self.start[-1])


class Side(NamedTuple):
    """One document as the kernels see it: what is known of the span of n sentences that ends with each sentence."""

    spans: np.ndarray  # (1 or sizes, sentences, dim) float32; one size: sums of it are the longer spans
    norms: np.ndarray  # (sizes, sentences) float32, length of the span's vector
    unlike: np.ndarray  # (sizes, sentences) float32, 1 - mean cosine with spans of the other document
    letters: np.ndarray  # (sentences + 1,) float64, cumulative length of the text


class Weights(NamedTuple):
    """A bead's score is prior - distance * c - length terms; c is Vecalign's normalised distance, 1 for strangers."""

    distance: np.ndarray  # (sizes + 1, sizes + 1) float64, for n and m sentences
    prior: np.ndarray  # (sizes + 1, sizes + 1) float64
    ratio: float  # times |log of the length ratio|
    squared: float  # times its square
    excess: float  # times the difference of lengths in standard deviations, after Gale and Church
    deletion: float  # score of one sentence without counterpart
    beads: int  # n + m is at most this


class Lattice(NamedTuple):
    """What the best path needs, and the sum over all paths."""

    step: np.ndarray  # (cells,) uint8, n * 16 + m of the best bead that ends here
    total: np.ndarray  # (cells,) float64, log of the sum over all ways to come here


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
    """Inner products of the sentences that beads inside a band can hold, one row behind another."""

    lo: np.ndarray
    start: np.ndarray
    values: np.ndarray  # float32


def sentence_products(band: Band, src: Side, tgt: Side, beads: int) -> Products:
    """Empty where spans have vectors of their own."""
    source = len(band.lo) - 1
    rows = np.arange(source)
    lo = band.lo[np.maximum(rows - beads + 1, 0)]
    hi = np.minimum(band.hi[np.minimum(rows + beads, source)], tgt.spans.shape[1])
    start = np.concatenate([[0], np.cumsum(np.maximum(hi - lo, 0))]).astype(np.int64)
    if len(src.spans) > 1:
        return Products(lo, start, np.empty(0, np.float32))
    values = np.empty(start[-1], np.float32)
    _multiply(src.spans[0], tgt.spans[0], lo, start, values)
    return Products(lo, start, values)


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


@njit(nogil=True, cache=True)
def _boxes(i: int, j: int, products: Products, size: int, box: np.ndarray) -> None:
    """box[n, m]: inner product of the spans of n and m sentences that end before (i, j)."""
    for n in range(1, min(size - 1, i) + 1):
        row = i - n
        total = 0.0
        for m in range(1, min(size - n, j - products.lo[row]) + 1):
            total += products.values[products.start[row] + j - m - products.lo[row]]
            box[n, m] = (box[n - 1, m] if n > 1 else 0.0) + total


@njit(nogil=True, cache=True, fastmath=True)
def _product(x: np.ndarray, y: np.ndarray) -> float:
    total = np.float32(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return float(total)


@njit(nogil=True, cache=True)
def distance(i: int, j: int, n: int, m: int, product: float, src: Side, tgt: Side) -> float:
    """Vecalign's: 2 (1 - cosine) by how unlike random spans each of the two is."""
    lengths = src.norms[n - 1, i - 1] * tgt.norms[m - 1, j - 1]
    cosine = product / max(lengths, 1e-12)
    return 2 * (1 - cosine) / (1e-6 + src.unlike[n - 1, i - 1] + tgt.unlike[m - 1, j - 1])


@njit(nogil=True, cache=True)
def _score(i: int, j: int, n: int, m: int, product: float, src: Side, tgt: Side, weights: Weights) -> float:
    score = weights.prior[n, m] - weights.distance[n, m] * distance(i, j, n, m, product, src, tgt)
    if weights.ratio == 0.0 and weights.squared == 0.0 and weights.excess == 0.0:
        return score
    x = src.letters[i] - src.letters[i - n]
    y = tgt.letters[j] - tgt.letters[j - m]
    ratio = abs(math.log((x + 5.0) / (y + 5.0)))
    excess = min(abs(x - y) / math.sqrt(x + y + 1.0) / 3.0, 20.0)
    return score - weights.ratio * ratio - weights.squared * ratio * ratio - weights.excess * excess


@njit(nogil=True, cache=True)
def _scores(
    i: int,
    j: int,
    band: Band,
    products: Products,
    src: Side,
    tgt: Side,
    weights: Weights,
    box: np.ndarray,
    score: np.ndarray,
    cell: np.ndarray,
) -> None:
    """Of all two-sided beads that end at (i, j): `score`, and `cell`, where they begin; -1 where that is no cell."""
    size = weights.beads
    linear = src.spans.shape[0] == 1
    if linear:
        _boxes(i, j, products, size, box)
    for n in range(1, size):
        row = i - n
        for m in range(1, size - n + 1):
            cell[n, m] = -1
            if row < 0 or j - m < band.lo[row] or j - m >= band.hi[row]:
                continue
            product = box[n, m] if linear else _product(src.spans[n - 1, i - 1], tgt.spans[m - 1, j - 1])
            cell[n, m] = band.start[row] + j - m - band.lo[row]
            score[n, m] = _score(i, j, n, m, product, src, tgt, weights)


@njit(nogil=True, cache=True)
def search(band: Band, products: Products, src: Side, tgt: Side, weights: Weights) -> Lattice:
    """The best way to every cell, and the sum over all ways."""
    size = weights.beads
    cells = band.start[-1]
    step = np.zeros(cells, np.uint8)
    best = np.full(cells, _NEVER)
    total = np.full(cells, _NEVER)
    box, score = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))
    cell = np.full((size + 1, size + 1), -1)
    for i in range(len(band.lo)):
        for j in range(band.lo[i], band.hi[i]):
            here = band.start[i] + j - band.lo[i]
            if i == 0 and j == 0:
                best[here] = total[here] = 0.0
                continue
            _scores(i, j, band, products, src, tgt, weights, box, score, cell)
            _deletions(i, j, here, band, weights.deletion, score, cell)
            most = _NEVER
            for n in range(size):
                for m in range(size - n + 1):
                    if cell[n, m] < 0:
                        continue
                    value = best[cell[n, m]] + score[n, m]
                    if value > best[here]:
                        best[here], step[here] = value, n * 16 + m
                    most = max(most, total[cell[n, m]] + score[n, m])
            share = 0.0
            for n in range(size):
                for m in range(size - n + 1):
                    if cell[n, m] >= 0:
                        difference = total[cell[n, m]] + score[n, m] - most
                        if difference > -_FAR:
                            share += math.exp(difference)
            if share > 0.0:
                total[here] = most + math.log(share)
    return Lattice(step, total)


@njit(nogil=True, cache=True)
def _deletions(i: int, j: int, here: int, band: Band, deletion: float, score: np.ndarray, cell: np.ndarray) -> None:
    score[1, 0] = score[0, 1] = deletion
    cell[1, 0] = band.start[i - 1] + j - band.lo[i - 1] if i > 0 and band.lo[i - 1] <= j < band.hi[i - 1] else -1
    cell[0, 1] = here - 1 if j > band.lo[i] else -1


@njit(nogil=True, cache=True)
def trace(band: Band, step: np.ndarray) -> np.ndarray:
    """The beads (count, 4) of the best path: first and last + 1 sentence of the source, of the target."""
    i = len(band.lo) - 1
    j = band.hi[i] - 1
    beads = np.empty((i + j, 4), np.int64)
    count = 0
    while i > 0 or j > 0:
        code = step[band.start[i] + j - band.lo[i]]
        n, m = code // 16, code % 16
        beads[count] = (i - n, i, j - m, j)
        count += 1
        i, j = i - n, j - m
    return beads[:count][::-1].copy()


@njit(nogil=True, cache=True)
def remaining(band: Band, products: Products, src: Side, tgt: Side, weights: Weights, total: np.ndarray) -> np.ndarray:
    """For every cell the log of the sum over all ways from it to the end."""
    size = weights.beads
    rest = np.full(band.start[-1], _NEVER)
    rest[-1] = 0.0
    box, score = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))
    cell = np.full((size + 1, size + 1), -1)
    for i in range(len(band.lo) - 1, -1, -1):
        for j in range(band.hi[i] - 1, band.lo[i] - 1, -1):
            here = band.start[i] + j - band.lo[i]
            if here == 0 or total[here] + rest[here] < total[-1] - _FAR:
                continue  # next to no path comes through here
            _scores(i, j, band, products, src, tgt, weights, box, score, cell)
            _deletions(i, j, here, band, weights.deletion, score, cell)
            for n in range(size):
                for m in range(size - n + 1):
                    before = cell[n, m]
                    if before >= 0:
                        rest[before] = _log_add(rest[before], rest[here] + score[n, m])
    return rest


@njit(nogil=True, cache=True)
def _log_add(x: float, y: float) -> float:
    high, low = max(x, y), min(x, y)
    return high if high - low > _FAR else high + math.log1p(math.exp(low - high))


@njit(nogil=True, cache=True)
def judge(
    beads: np.ndarray,
    band: Band,
    products: Products,
    src: Side,
    tgt: Side,
    weights: Weights,
    total: np.ndarray,
    rest: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The normalised distance of each bead (NaN where one side is empty) and its share of all paths."""
    size = weights.beads
    distances = np.full(len(beads), np.nan)
    shares = np.empty(len(beads))
    box, score = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))
    cell = np.full((size + 1, size + 1), -1)
    for k in range(len(beads)):
        i, j = beads[k, 1], beads[k, 3]
        n, m = i - beads[k, 0], j - beads[k, 2]
        here = band.start[i] + j - band.lo[i]
        _scores(i, j, band, products, src, tgt, weights, box, score, cell)
        _deletions(i, j, here, band, weights.deletion, score, cell)
        share = total[cell[n, m]] + score[n, m] + rest[here] - total[-1]
        shares[k] = min(math.exp(min(share, 0.0)), 1.0)
        if n > 0 and m > 0:
            linear = src.spans.shape[0] == 1
            product = box[n, m] if linear else _product(src.spans[n - 1, i - 1], tgt.spans[m - 1, j - 1])
            distances[k] = distance(i, j, n, m, product, src, tgt)
    return distances, shares
