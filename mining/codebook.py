"""A codebook: directions that cut the space of both sides into small cells, and the cells nearest to each vector.

One flat set of unit centroids, made by spherical k-means on a sample of both sides. Products are of int8 codes where
the CPU multiplies bytes fast: integers add up to the same sum in any order, so that the cells of a vector do not depend
on threads or on what else is in its batch. Beyond `ALL_CELLS` centroids an HNSW graph over them finds the nearest, so
that neither training nor assignment grows with the square of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np
import torch
import torch.nn.functional as F

from mining.approximate import import_faiss
from mining.bytewise import round_rows
from mining.quantised import int8_is_fast
from mining.threads import Threads

ROWS_A_CELL = 128  # of each side, if every vector were in its nearest cell only
SAMPLE_A_CELL = 32  # vectors that a centroid is trained on
ITERATIONS = 8
ALL_CELLS = 1 << 17  # up to here comparing every vector with every centroid is faster than HNSW
_BLOCK_ROWS, _BLOCK_CELLS = 256, 512  # whose products stay in the cache
_TILE = 64  # centroids in multiples of this are multiplied twice as fast
_LINKS = 32  # of each centroid in the HNSW graph
_LEAST_EFFORT = 64  # of a search in it; FAISS's own default, 16, misses cells


class Codebook:
    """Unit centroids (cells, dim) float32, and what finds the nearest of them, made when it is first asked for."""

    def __init__(self, centroids: np.ndarray) -> None:
        self.centroids = centroids

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, rows: np.ndarray, count: int, pool: Threads) -> np.ndarray:
        """The nearest cells of each unit vector, best first, as (rows, count) int32; all when there are fewer."""
        count = min(count, len(self))
        if len(self) > ALL_CELLS:
            self._links.hnsw.efSearch = max(_LEAST_EFFORT, 4 * count)
            return np.asarray(self._links.search(rows, count)[1], np.int32)
        best = np.empty((len(rows), count), np.int32)
        products = self._products

        def work(thread: int, start: int, stop: int) -> None:
            for first in range(start, stop, _BLOCK_ROWS):
                part = slice(first, min(first + _BLOCK_ROWS, stop))
                for tile, scores in enumerate(products(rows[part])):
                    cell = tile * _BLOCK_CELLS
                    if not tile:
                        top = np.empty((part.stop - first, count), scores.dtype)
                    _best_of(scores[:, : len(self) - cell], cell, top, best[part])

        pool.multiply_over_rows(len(rows), work)
        return best

    @cached_property
    def _products(self) -> Callable[[np.ndarray], Iterator[np.ndarray]]:
        """Products with `_BLOCK_CELLS` centroids after another, up to a factor for each row; further columns mean
        nothing."""
        if not multiplies_bytes(self.centroids.shape[1]):
            tiles = torch.from_numpy(self.centroids).T.split(_BLOCK_CELLS, 1)
            return lambda rows: (torch.mm(torch.from_numpy(rows), tile).numpy() for tile in tiles)
        step = np.float32(127) / np.abs(self.centroids).max()  # one scale for all: their products are compared
        codes = torch.from_numpy(np.rint(self.centroids * step).astype(np.int8))
        padded = F.pad(codes, (0, 0, 0, -len(codes) % _TILE))
        coded = [tile.T.contiguous() for tile in padded.split(_BLOCK_CELLS)]

        def multiply(rows: np.ndarray) -> Iterator[np.ndarray]:
            codes = _row_codes(rows)
            return (torch._int_mm(codes, tile).numpy() for tile in coded)

        return multiply

    @cached_property
    def _links(self) -> Any:
        faiss = import_faiss()
        index = faiss.IndexHNSWFlat(self.centroids.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # several link the centroids in another order each time
        index.add(self.centroids)
        faiss.omp_set_num_threads(threads)
        return index


def cell_count(source_rows: int, target_rows: int, rows_a_cell: int = ROWS_A_CELL) -> int:
    """As many cells as put `rows_a_cell` vectors of the mean side into each."""
    return max(1, round((source_rows + target_rows) / 2 / rows_a_cell))


def train_codebook(sample: np.ndarray, cells: int, pool: Threads, seed: int = 0) -> Codebook:
    """Spherical k-means: centroids begin as vectors of the sample, and those that lose all theirs begin again.

    `sample` (vectors, dim) holds unit float32 vectors; there are no more cells than it has different ones.
    """
    draw = np.random.default_rng(seed)
    start = np.unique(sample[np.sort(draw.choice(len(sample), min(cells, len(sample)), replace=False))], axis=0)
    codebook = Codebook(start)
    for _ in range(ITERATIONS):
        owner = codebook.nearest(sample, 1, pool)[:, 0]
        sums = np.zeros_like(codebook.centroids)
        torch.from_numpy(sums).index_add_(0, torch.from_numpy(owner.astype(np.int64)), torch.from_numpy(sample))
        empty = np.flatnonzero(np.bincount(owner, minlength=len(sums)) == 0)
        sums[empty] = sample[draw.choice(len(sample), len(empty), replace=False)]
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        codebook = Codebook(np.divide(sums, lengths, out=codebook.centroids.copy(), where=lengths > 0))
    return codebook


def multiplies_bytes(dim: int) -> bool:
    return int8_is_fast() and dim % 8 == 0


def _row_codes(rows: np.ndarray) -> torch.Tensor:
    """The rows as int8, each by a scale of its own."""
    codes, unused = np.empty(rows.shape, np.int8), np.empty((2, len(rows)), np.float32)
    round_rows(rows, np.ones(len(rows)), codes, *unused)
    return torch.from_numpy(codes)


@nb.njit(nogil=True, cache=True)
def _best_of(scores: np.ndarray, first: int, top: np.ndarray, best: np.ndarray) -> None:
    """Enter the columns of scores, numbered from `first`, into the best of each row; the lowest wins a tie.

    `top` holds their scores, and before the first columns nothing.
    """
    count = best.shape[1]
    for i in range(scores.shape[0]):
        filled = min(first, count)
        for start in range(0, scores.shape[1], 64):
            values = scores[i, start : start + 64]
            hits = count if filled < count else 0
            if filled == count:
                cutoff = top[i, count - 1]
                for j in range(values.shape[0]):
                    hits += values[j] > cutoff
            if hits == 0:
                continue
            for j in range(values.shape[0]):
                if filled == count and not values[j] > top[i, count - 1]:
                    continue
                slot = min(filled, count - 1)
                while slot > 0 and top[i, slot - 1] < values[j]:
                    top[i, slot] = top[i, slot - 1]
                    best[i, slot] = best[i, slot - 1]
                    slot -= 1
                top[i, slot] = values[j]
                best[i, slot] = first + start + j
                filled = min(filled + 1, count)
