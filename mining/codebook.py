"""A codebook: directions that cut the space of both sides into small cells, and the cells nearest to each vector.

One flat set of unit centroids, made by spherical k-means on a sample of both sides. Products are of int8 codes, also
where the CPU does not multiply bytes fast: integers add up to the same sum in any order, so that the cells of a vector
do not depend on the CPU, on threads or on what else is in its batch. Many centroids lie in groups, by a codebook of
their own: a vector is compared with those of its nearest groups, so that neither training nor assignment grows with the
square of the corpus.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from mining.bytewise import round_rows
from mining.nearest_kernels import LOWEST, enter, enter_nearest
from mining.quantised import int8_is_fast
from mining.threads import Threads

ROWS_A_CELL = 128  # of each side, if every vector were in its nearest cell only
SAMPLE_A_CELL = 32  # vectors that a centroid is trained on
ITERATIONS = 8
# Up to here comparing every vector with every centroid is as fast as with those of its groups, to find the nearest one.
ALL_CELLS = 4096
_BLOCK_ROWS, _LEAST_ROWS = 256, 32  # that are multiplied at once
_BLOCK_PRODUCTS = 1 << 21  # of these, which stay in the cache
_TILE = 64  # centroids in multiples of this are multiplied twice as fast
_GROUP_COPIES = 8  # groups that a centroid is in
_GROUP_CELLS = 192  # centroids of a group
_GROUPS, _MORE_GROUPS = 8, 16  # whose centroids a vector is compared with, for the nearest cell and for several
_GROUPED_ROWS = 1 << 15  # vectors that are sorted by group at a time


class NearCells(NamedTuple):
    """The nearest cells of vectors, best first, and the cosines with their centroids, as far as bytes tell."""

    cells: np.ndarray  # (rows, count) int32
    cosines: np.ndarray  # (rows, count) float32


class CellGroups(NamedTuple):
    """Groups of centroids, each of which is in several."""

    book: Codebook  # of the groups
    cells: list[np.ndarray]  # int32, of each group
    tiles: list[torch.Tensor]  # their codes


class Codebook:
    """Unit centroids (cells, dim) float32, and what finds the nearest of them, made when it is first asked for."""

    def __init__(self, centroids: np.ndarray) -> None:
        self.centroids = centroids
        self._groups: CellGroups | None = None

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, rows: np.ndarray, count: int, pool: Threads) -> np.ndarray:
        """The nearest cells of each unit vector, best first, as (rows, count) int32; all when there are fewer."""
        return self.near(rows, count, pool).cells

    def near(self, rows: np.ndarray, count: int, pool: Threads) -> NearCells:
        """The same with their cosines."""
        count = min(count, len(self))
        if compares_all(len(self), several=count > 1):
            return self._nearest_of_all(rows, count, pool)
        best = self._nearest_of_groups(rows, count, pool)
        few = np.flatnonzero(best.cells[:, -1] < 0)  # whose groups have fewer centroids than that
        if len(few):
            best.cells[few], best.cosines[few] = self._nearest_of_all(rows[few], count, pool)
        return best

    def _nearest_of_all(self, rows: np.ndarray, count: int, pool: Threads) -> NearCells:
        best = NearCells(np.full((len(rows), count), -1, np.int32), np.empty((len(rows), count), np.float32))
        cells, height = np.arange(len(self), dtype=np.int32), self._height
        multiplied = torch.empty((pool.count, height, self._tile.shape[1]), dtype=torch.int32)

        def work(thread: int, start: int, stop: int) -> None:
            for first in range(start, stop, height):
                part = slice(first, min(first + height, stop))
                codes, scales = self._row_codes(rows[part])
                found = best.cells[part]
                products, top = multiplied[thread, : len(found)], np.full(found.shape, LOWEST)
                _multiply(codes, self._tile, products)
                _enter(products.numpy(), cells, np.arange(len(found)), top, found)
                best.cosines[part] = top * scales

        pool.multiply_over_rows(len(rows), work)
        return best

    def _nearest_of_groups(self, rows: np.ndarray, count: int, pool: Threads) -> NearCells:
        groups = self._grouped(pool)
        best = NearCells(np.full((len(rows), count), -1, np.int32), np.empty((len(rows), count), np.float32))
        near = groups.book.nearest(rows, _GROUPS if count == 1 else _MORE_GROUPS, pool)

        def work(thread: int, start: int, stop: int) -> None:
            for first in range(start, stop, _GROUPED_ROWS):
                part = slice(first, min(first + _GROUPED_ROWS, stop))
                codes, scales = self._row_codes(rows[part])
                found = best.cells[part]
                top = np.full(found.shape, LOWEST)
                for group, places in enumerate(_members(near[part], len(groups.book))):
                    if len(places) and len(groups.cells[group]):
                        tile = groups.tiles[group]
                        products = torch.empty((len(places), tile.shape[1]), dtype=torch.int32)
                        _multiply(codes.index_select(0, torch.from_numpy(places)), tile, products)
                        _enter(products.numpy(), groups.cells[group], places, top, found)
                best.cosines[part] = top * scales

        pool.multiply_over_rows(len(rows), work)
        return best

    def _grouped(self, pool: Threads) -> CellGroups:
        if self._groups is None:
            book = train_codebook(self.centroids, _GROUP_COPIES * len(self) // _GROUP_CELLS, pool)
            near = book.nearest(self.centroids, _GROUP_COPIES, pool)
            cells = [found.astype(np.int32) for found in _members(near, len(book))]
            self._groups = CellGroups(book, cells, [_padded(self._codes[torch.from_numpy(own)]) for own in cells])
        return self._groups

    @cached_property
    def _bytes(self) -> bool:
        return multiplies_bytes(self.centroids.shape[1])

    @cached_property
    def _codes(self) -> torch.Tensor:
        """The centroids as numbers that are multiplied: int8 of one scale for all, as their products are compared."""
        return self._multiplied(np.rint(self.centroids / self._step).astype(np.int8))

    def _multiplied(self, codes: np.ndarray) -> torch.Tensor:
        """As bytes, or as floats, which hold the sums of such products, below 2^24, just as exactly."""
        return torch.from_numpy(codes if self._bytes else codes.astype(np.float32))

    @cached_property
    def _step(self) -> np.float32:
        return np.float32(np.abs(self.centroids).max() / np.float32(127))

    @cached_property
    def _tile(self) -> torch.Tensor:
        return _padded(self._codes)

    @property
    def _height(self) -> int:
        """Rows that are compared with all centroids at once."""
        return max(_LEAST_ROWS, min(_BLOCK_ROWS, _BLOCK_PRODUCTS // self._tile.shape[1]))

    def _row_codes(self, rows: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        """Vectors as numbers that are multiplied: int8, each by a scale of its own; and what makes cosines of products.

        These scales are (rows, 1) float32.
        """
        codes, scales, unused = np.empty(rows.shape, np.int8), *np.empty((2, len(rows)), np.float32)
        round_rows(rows, np.ones(len(rows)), codes, scales, unused)
        return self._multiplied(codes), (scales * self._step)[:, None]


def compares_all(cells: int, *, several: bool = False) -> bool:
    """Whether a vector is compared with all of so many centroids; for several more groups are wanted, and pay later."""
    return cells <= (2 * ALL_CELLS if several else ALL_CELLS)


def compared(cells: int, *, several: bool = False) -> float:
    """Centroids that a vector is compared with to find the nearest of so many, or several: those of groups, and their
    groups."""
    if compares_all(cells, several=several):
        return cells
    groups = _MORE_GROUPS if several else _GROUPS
    return compared(_GROUP_COPIES * cells // _GROUP_CELLS, several=True) + groups * _GROUP_CELLS


def cell_count(source_rows: int, target_rows: int, rows_a_cell: int = ROWS_A_CELL) -> int:
    """As many cells as put `rows_a_cell` vectors of the mean side into each."""
    return max(1, round((source_rows + target_rows) / 2 / rows_a_cell))


def train_codebook(sample: np.ndarray, cells: int, pool: Threads, seed: int = 0) -> Codebook:
    """Spherical k-means: centroids begin as vectors of the sample, and those that lose all theirs begin again.

    `sample` (vectors, dim) holds unit float32 vectors; there are no more cells than it has different ones.
    """
    draw = np.random.default_rng(seed)
    rows = distinct_rows(sample)  # copies must not take all centroids
    start = np.unique(sample[rows[np.sort(draw.choice(len(rows), min(cells, len(rows)), replace=False))]], axis=0)
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


def distinct_rows(sample: np.ndarray) -> np.ndarray:
    """The first row of each different float32 vector, but for a few whose hash is another's."""
    weights = np.random.default_rng(0).integers(1 << 31, size=sample.shape[1], dtype=np.int32) | 1
    return np.sort(np.unique(sample.view(np.int32) @ weights, return_index=True)[1])


def multiplies_bytes(dim: int) -> bool:
    return int8_is_fast() and dim % 8 == 0


def _padded(codes: torch.Tensor) -> torch.Tensor:
    """(dim, cells) for products; further columns mean nothing."""
    return F.pad(codes, (0, 0, 0, -len(codes) % _TILE)).T.contiguous()


def _multiply(rows: torch.Tensor, tile: torch.Tensor, products: torch.Tensor) -> None:
    """Into int32: floats hold such sums as well."""
    if rows.dtype == torch.int8:
        torch._int_mm(rows, tile, out=products)
    else:
        products.copy_(torch.mm(rows, tile))


def _enter(products: np.ndarray, cells: np.ndarray, places: np.ndarray, top: np.ndarray, best: np.ndarray) -> None:
    (enter if best.shape[1] > 1 else enter_nearest)(products, cells, places, top, best)


def _members(groups: np.ndarray, count: int) -> list[np.ndarray]:
    """For each of so many groups the rows of `groups` (rows, groups of a row) that are in it."""
    small = groups.astype(np.min_scalar_type(count))  # of two bytes, which are sorted in linear time
    order = np.argsort(small, axis=None, kind="stable")
    edges = np.searchsorted(groups.ravel()[order], np.arange(1, count))
    return np.split(order // groups.shape[1], edges)
