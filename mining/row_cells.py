"""Which cells of a codebook the rows of a side are in, and which rows of a cell meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mining.codebook import Codebook, NearCells
from mining.threads import Threads

COPIES = 18  # cells that a vector goes to at most
REACH = 200  # detours of two rows that meet in a cell, together
SPACED = 8  # cells of a row that tell how near each other cells are
# A detour is the logarithm of a cell's rank for a row, and this for each spacing of cosine lost from its nearest cell.
_LOSS = 2.0
_REACH_OF_COPIES = 2.1  # times the logarithm of the copies: the detours that reach so far


class RowCells(NamedTuple):
    """The cells of rows, and how far out of the way each of them is: rows of a cell meet if that is little for both.

    A neighbour is found in a cell that is near to both rows, or very near to one of them. So rows at the edge of a cell
    are compared with those in its middle only: two thirds of the comparisons find as much.
    """

    cells: np.ndarray  # (rows, copies) int32, negative for none
    detours: np.ndarray  # (rows, copies) uint8: two rows of a cell meet where the sum is at most `REACH`

    @classmethod
    def of(cls, near: NearCells, copies: int, spacing: float, cells: int) -> RowCells:
        """The nearest cells of rows in a codebook of so many, without those that are too far to meet any row."""
        own = NearCells(near.cells[:, :copies], near.cosines[:, :copies])
        if copies >= cells:  # all rows are in all cells
            return cls.meeting(own.cells)
        ranks = np.arange(1, own.cells.shape[1] + 1)
        lost = (own.cosines[:, :1] - own.cosines) / np.float32(max(spacing, 1e-6))
        steps = np.float32(REACH / max(_REACH_OF_COPIES * np.log(copies), 1e-6))
        detours = np.rint((_LOSS * lost + np.log(ranks, dtype=np.float32)) * steps)
        near_enough = (detours <= REACH) & (own.cells >= 0)
        return cls(np.where(near_enough, own.cells, -1), np.where(near_enough, detours, 0).astype(np.uint8))

    @classmethod
    def meeting(cls, cells: np.ndarray) -> RowCells:
        """All rows of a cell meet."""
        return cls(cells, np.zeros(cells.shape, np.uint8))

    def take(self, rows: np.ndarray) -> RowCells:
        return RowCells(self.cells[rows], self.detours[rows])


def spacing(near: NearCells) -> float:
    """What rows lose of their cosine from the nearest to the eighth cell: the measure of detours."""
    return (
        float((near.cosines[:, 0] - near.cosines[:, :SPACED][:, -1]).mean(dtype=np.float64)) if len(near.cells) else 1.0
    )


def cells_of_sides(codebook: Codebook, sides: Sequence[np.ndarray], copies: int, pool: Threads) -> list[RowCells]:
    """The cells of unit vectors, which are themselves the measure of detours."""
    near = [codebook.near(side, max(copies, SPACED), pool) for side in sides]
    space = spacing(NearCells(*map(np.concatenate, zip(*near, strict=True))))
    return [RowCells.of(side, copies, space, len(codebook)) for side in near]


def met_within(source: RowCells, target: RowCells) -> np.ndarray:
    """Of pairs of rows, whether they meet."""
    shared = (source.cells[:, :, None] == target.cells[:, None, :]) & (source.cells >= 0)[:, :, None]
    sums = source.detours[:, :, None].astype(np.int16) + target.detours[:, None, :]
    return (shared & (sums <= REACH)).any((1, 2))


class CellRows(NamedTuple):
    """Which rows of a side are in which cell: those of the i-th cell are `rows[starts[i] : starts[i + 1]]`."""

    cells: np.ndarray  # (cells,) int32, increasing
    starts: np.ndarray  # (cells + 1,) int64
    rows: np.ndarray  # int32; in each cell by their detour, then increasing
    detours: np.ndarray  # uint8, of these

    @classmethod
    def of(cls, assigned: RowCells) -> CellRows:
        there = np.flatnonzero(assigned.cells >= 0)
        keys = assigned.cells.ravel()[there].astype(np.int64) << 8 | assigned.detours.ravel()[there]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        cells, starts = np.unique(keys >> 8, return_index=True)
        rows = (there[order] // max(assigned.cells.shape[1], 1)).astype(np.int32)
        ends = np.append(starts, len(rows)).astype(np.int64)
        return cls(cells.astype(np.int32), ends, rows, (keys & 255).astype(np.uint8))

    def inside(self, cell: int) -> np.ndarray:
        return self.rows[self._part(cell)]

    def members(self, cell: int) -> CellMembers:
        part = self._part(cell)
        return CellMembers(self.rows[part], self.detours[part])

    def _part(self, cell: int) -> slice:
        place = int(np.searchsorted(self.cells, cell))
        if place == len(self.cells) or self.cells[place] != cell:
            return slice(0, 0)
        return slice(int(self.starts[place]), int(self.starts[place + 1]))


def comparisons(rows: CellRows, columns: CellRows, block_rows: int) -> int:
    """Pairs that are compared where so many rows of a cell come together."""
    total = 0
    for cell in np.intersect1d(rows.cells, columns.cells).tolist():
        some, others = rows.members(cell), columns.members(cell)
        widths = np.searchsorted(others.detours, REACH - some.detours[::block_rows].astype(int), side="right")
        sizes = np.minimum(block_rows, len(some.rows) - np.arange(0, len(some.rows), block_rows))
        total += int(widths @ sizes)
    return total


class CellMembers(NamedTuple):
    """Rows of one side in a cell."""

    rows: np.ndarray  # int32
    detours: np.ndarray  # uint8, increasing

    def take(self, which: np.ndarray | slice) -> CellMembers:
        return CellMembers(self.rows[which], self.detours[which])

    def parts(self, size: int) -> Iterator[CellMembers]:
        return (self.take(slice(first, first + size)) for first in range(0, len(self.rows), size))
