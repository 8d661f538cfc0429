"""The best path of single sentences through two documents, from coarse to fine: what bounds the search for beads.

Neighbouring sentences are added up until the whole matrix is small, its best path bounds the search among twice as
many, and so on (Thompson and Koehn 2019).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mining.alignment_band import Band, band_around, full_band, sentence_products
from mining.alignment_scores import distance
from mining.even_rows import evenly_spread

_COARSE_CELLS = 300 * 300
_COARSE_WIDTH = 10
SAMPLE = 1000  # sentences of a document, by which all are judged
_DELETION_QUANTILE = 0.2
_MATCH, _SOURCE, _TARGET = 1, 2, 3  # steps: one sentence of both sides, or of one
_NEVER = -1e30
_BLOCK = 1 << 14  # sentences


def coarse_path(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Positions (points, 2) of the best path of unit vectors (sentences, dim), one sentence a step at most."""
    if len(source) * len(target) <= _COARSE_CELLS or min(len(source), len(target)) < 4:
        return _path(source, target, full_band(len(source), len(target)))
    coarse = coarse_path(_halve(source), _halve(target))
    ends = np.array([len(source), len(target)])
    path = np.minimum(2 * coarse, ends)
    path[-1] = ends
    return _path(source, target, band_around(path, len(source), len(target), _COARSE_WIDTH))


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def unit_sums(vectors: np.ndarray, size: int) -> np.ndarray:
    """Unit vectors of each `size` neighbours added up, less their mean, which all share; of one its own.

    `vectors` (sentences, dim), of any length, may be mapped: of those to be added few are in memory at a time.
    """
    if size == 1:
        return unit_rows(np.asarray(vectors, np.float32))
    sums, block = [], max(_BLOCK // size, 1) * size
    for first in range(0, len(vectors), block):
        rows = unit_rows(np.asarray(vectors[first : first + block], np.float32))
        sums.append(np.add.reduceat(rows, np.arange(0, len(rows), size)))
    units = np.concatenate(sums)
    return unit_rows(units - units.mean(0))


def _halve(vectors: np.ndarray) -> np.ndarray:
    """Each two neighbours added up; the mean, which all share, would hide what tells them apart."""
    added = vectors[0::2].copy()
    added[: len(vectors) // 2] += vectors[1::2]
    return unit_rows(added - added.mean(0))


def _path(source: np.ndarray, target: np.ndarray, band: Band) -> np.ndarray:
    """Of 1-1, 1-0 and 0-1 beads."""
    typical = [side[evenly_spread(len(side), SAMPLE)].mean(0) for side in (source, target)]
    unlike = 1 - source @ typical[1], 1 - target @ typical[0]
    values = sentence_products(band, source[None], target[None], 2)
    steps = _steps(band, values.lo, values.start, values.values, *unlike, _deletion_cost(source, target, *unlike))
    return _traced(band, steps)


def _deletion_cost(source: np.ndarray, target: np.ndarray, unlike: np.ndarray, unlike_target: np.ndarray) -> float:
    """A quantile of the distance of random sentences; half of it, since two deletions stand against one match."""
    rng = np.random.default_rng(0)
    few = int(SAMPLE**0.5) * 5
    i, j = (np.arange(len(side)) if len(side) <= few else rng.integers(0, len(side), few) for side in (source, target))
    distances = 2 * (1 - source[i] @ target[j].T) / (1e-6 + np.add.outer(unlike[i], unlike_target[j]))
    return float(np.quantile(distances, _DELETION_QUANTILE)) / 2


@njit(nogil=True, cache=True)
def _steps(
    band: Band,
    lo: np.ndarray,
    start: np.ndarray,
    products: np.ndarray,
    unlike: np.ndarray,
    unlike_target: np.ndarray,
    deletion: float,
) -> np.ndarray:
    """(cells,) the last step of the best path to each cell; of equal ones a match, then the source's sentence."""
    steps = np.zeros(band.start[-1], np.uint8)
    above, here = np.empty(0), np.zeros(0)
    for i in range(len(band.lo)):
        first = band.lo[i]
        above, here = here, np.empty(band.hi[i] - first)
        for j in range(first, band.hi[i]):
            best, step = _NEVER, 0
            up = j - band.lo[i - 1] if i > 0 else -1  # the place of (i - 1, j) in the row above
            if i == 0 and j == 0:
                best = 0.0
            if 0 < up <= len(above) and j > 0:
                product = products[start[i - 1] + j - 1 - lo[i - 1]]
                best, step = above[up - 1] - distance(product, 1.0, unlike[i - 1] + unlike_target[j - 1]), _MATCH
            if 0 <= up < len(above) and above[up] - deletion > best:
                best, step = above[up] - deletion, _SOURCE
            if j > first and here[j - first - 1] - deletion > best:
                best, step = here[j - first - 1] - deletion, _TARGET
            here[j - first] = best
            steps[band.start[i] + j - first] = step
    return steps


@njit(nogil=True, cache=True)
def _traced(band: Band, steps: np.ndarray) -> np.ndarray:
    i = len(band.lo) - 1
    j = band.hi[i] - 1
    path = np.empty((i + j + 1, 2), np.int64)
    count = 0
    while i > 0 or j > 0:
        path[count] = i, j
        count += 1
        step = steps[band.start[i] + j - band.lo[i]]
        i, j = i - (step != _TARGET), j - (step != _SOURCE)
    path[count] = 0, 0
    return path[: count + 1][::-1].copy()
