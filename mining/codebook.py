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

import numba as nb
import numpy as np
import torch
import torch.nn.functional as F

from mining.bytewise import round_rows
from mining.quantised import int8_is_fast
from mining.threads import Threads

ROWS_A_CELL = 128  # of each side, if every vector were in its nearest cell only
SAMPLE_A_CELL = 32  # vectors that a centroid is trained on
ITERATIONS = 8
# Up to here comparing every vector with every centroid is as fast as with those of its groups, to find the nearest one.
ALL_CELLS = 4096
_BLOCK_ROWS, _BLOCK_CELLS = 256, 1024  # whose products stay in the cache
_TILE = 64  # centroids in multiples of this are multiplied twice as fast
_GROUP_COPIES = 8  # groups that a centroid is in
_GROUP_CELLS = 192  # centroids of a group
_GROUPS, _MORE_GROUPS = 8, 16  # whose centroids a vector is compared with, for the nearest cell and for several
_STRIDE = 256  # products that are tested at once
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
        tiles, cells = self._tiles, np.arange(len(self), dtype=np.int32)

        def work(thread: int, start: int, stop: int) -> None:
            for first in range(start, stop, _BLOCK_ROWS):
                part = slice(first, min(first + _BLOCK_ROWS, stop))
                codes, scales = self._row_codes(rows[part])
                found = best.cells[part]
                places, top = np.arange(len(found)), np.full(found.shape, self._lowest)
                for number, tile in enumerate(tiles):
                    own = cells[number * _BLOCK_CELLS : (number + 1) * _BLOCK_CELLS]
                    _enter(_products(codes, tile), own, places, top, found)
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
                top = np.full(found.shape, self._lowest)
                for group, places in enumerate(_members(near[part], len(groups.book))):
                    if len(places) and len(groups.cells[group]):
                        products = _products(codes.index_select(0, torch.from_numpy(places)), groups.tiles[group])
                        _enter(products, groups.cells[group], places, top, found)
                best.cosines[part] = top * scales

        pool.multiply_over_rows(len(rows), work)
        return best

    def _grouped(self, pool: Threads) -> CellGroups:
        if self._groups is None:
            book = train_codebook(self.centroids, _GROUP_COPIES * len(self) // _GROUP_CELLS, pool)
            near = book.nearest(self.centroids, _GROUP_COPIES, pool)
            cells = [found.astype(np.int32) for found in _members(near, len(book))]
            self._groups = CellGroups(book, cells, [_tile(self._codes[torch.from_numpy(own)]) for own in cells])
        return self._groups

    @cached_property
    def _bytes(self) -> bool:
        return multiplies_bytes(self.centroids.shape[1])

    @property
    def _lowest(self) -> np.number:
        return np.int32(np.iinfo(np.int32).min) if self._bytes else np.float32(-np.inf)

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
    def _tiles(self) -> list[torch.Tensor]:
        return [_tile(part) for part in self._codes.split(_BLOCK_CELLS)]

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


def _tile(codes: torch.Tensor) -> torch.Tensor:
    """(dim, cells) for products; further columns mean nothing."""
    return F.pad(codes, (0, 0, 0, -len(codes) % _TILE)).T.contiguous()


def _products(rows: torch.Tensor, tile: torch.Tensor) -> np.ndarray:
    return (torch._int_mm if rows.dtype == torch.int8 else torch.mm)(rows, tile).numpy()


def _members(groups: np.ndarray, count: int) -> list[np.ndarray]:
    """For each of so many groups the rows of `groups` (rows, groups of a row) that are in it."""
    order = np.argsort(groups, axis=None, kind="stable")
    edges = np.searchsorted(groups.ravel()[order], np.arange(1, count))
    return np.split(order // groups.shape[1], edges)


@nb.njit(nogil=True, cache=True)
def _enter(scores: np.ndarray, cells: np.ndarray, places: np.ndarray, top: np.ndarray, best: np.ndarray) -> None:
    """Enter columns of scores, those of `cells`, into the best of the rows `places`; `top` holds their scores.

    The first wins a tie, and no cell is entered twice.
    """
    last = best.shape[1] - 1
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    maxima, highest = np.empty(2 * best.shape[1], scores.dtype), np.empty(best.shape[1], scores.dtype)
    for i in range(len(places)):
        row = places[i]
        if last and best[row, 0] < 0 and len(cells) >= 2 * len(maxima):
            top[row] = _reached(scores[i, : len(cells)], maxima, highest) - 1  # as many are above
        for start in range(0, len(cells), _STRIDE):
            values = scores[i, start : min(start + _STRIDE, len(cells))]
            _flag(values, top[row, last], hits)
            hits[len(values) :] = 0
            for eight in range((len(values) + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, len(values))):
                    if values[j] > top[row, last]:
                        _insert(values[j], cells[start + j], top, best, row)


@nb.njit(nogil=True, cache=True)
def _reached(values: np.ndarray, maxima: np.ndarray, highest: np.ndarray) -> float:
    """What as many values as `highest` has room for are at least: the lowest of the highest maxima of disjoint groups.

    With it far fewer values are inserted, in order to be dropped again.
    """
    groups = len(maxima)
    maxima[:] = values[:groups]
    for start in range(groups, len(values) - groups + 1, groups):
        _raise(values[start : start + groups], maxima)
    highest[:] = maxima[: len(highest)]
    highest.sort()
    for value in maxima[len(highest) :]:
        if value > highest[0]:
            place = 0
            while place + 1 < len(highest) and highest[place + 1] < value:
                highest[place] = highest[place + 1]
                place += 1
            highest[place] = value
    return highest[0]


@nb.njit(nogil=True, cache=True)
def _raise(values: np.ndarray, maxima: np.ndarray) -> None:
    """In a loop of its own, which vectorises."""
    for j in range(len(maxima)):
        maxima[j] = max(maxima[j], values[j])


@nb.njit(nogil=True, cache=True)
def _flag(values: np.ndarray, cutoff: float, hits: np.ndarray) -> None:
    """Which values are above it, in a loop of its own, which vectorises."""
    for j in range(len(values)):
        hits[j] = values[j] > cutoff


@nb.njit(nogil=True, cache=True, inline="always")
def _insert(score: float, cell: int, top: np.ndarray, best: np.ndarray, row: int) -> None:
    """Behind all that are as near, unless the cell is among them."""
    place = top.shape[1] - 1
    while place > 0 and top[row, place - 1] < score:
        place -= 1
    same = place - 1
    while same >= 0 and top[row, same] == score:
        if best[row, same] == cell:
            return
        same -= 1
    for slot in range(top.shape[1] - 1, place, -1):
        top[row, slot], best[row, slot] = top[row, slot - 1], best[row, slot - 1]
    top[row, place], best[row, place] = score, cell
