"""Rows by cell, and which of them meet."""

import numpy as np

from mining.codebook import NearCells
from mining.row_cells import REACH, CellRows, RowCells, met_within


def test_rows_by_cell() -> None:
    lists = CellRows.of(RowCells.meeting(np.array([[2, 0], [-1, 2], [5, 2]], np.int32)))
    assert {cell: lists.inside(cell).tolist() for cell in (0, 1, 2, 5)} == {0: [0], 1: [], 2: [0, 1, 2], 5: [2]}
    assert lists.cells.tolist() == [0, 2, 5]
    assert CellRows.of(RowCells.meeting(np.full((3, 2), -1, np.int32))).inside(0).tolist() == []


def test_rows_of_a_cell_come_by_their_detours() -> None:
    lists = CellRows.of(RowCells(np.array([[2], [2], [2]], np.int32), np.array([[7], [3], [7]], np.uint8)))
    members = lists.members(2)
    assert members.rows.tolist() == [1, 0, 2]
    assert members.detours.tolist() == [3, 7, 7]


def test_cells_far_out_of_the_way_are_left_out() -> None:
    """Of equal rank what is farther is a longer detour; the nearest cell is none, and all meet where all are in all."""
    near = NearCells(np.array([[4, 2, 7], [1, 2, 3]], np.int32), np.float32([[0.9, 0.85, 0.1], [0.9, 0.89, 0.88]]))
    found = RowCells.of(near, 3, spacing=0.2, cells=50)
    assert found.cells.tolist() == [[4, 2, -1], [1, 2, 3]]
    assert found.detours[:, 0].tolist() == [0, 0]
    assert 0 < found.detours[1, 1] < found.detours[0, 1] <= REACH
    assert (RowCells.of(near, 3, spacing=0.2, cells=3).detours == 0).all()
    assert RowCells.of(near, 1, spacing=0.2, cells=50).cells.tolist() == [[4], [1]]


def test_pairs_that_meet() -> None:
    one = RowCells(np.array([[4, 2], [4, -1]], np.int32), np.array([[0, 150], [0, 0]], np.uint8))
    other = RowCells(np.array([[2, 5], [-1, 3]], np.int32), np.array([[50, 0], [0, 0]], np.uint8))
    assert met_within(one, other).tolist() == [True, False]
    assert met_within(one, other._replace(detours=other.detours + np.uint8(1))).tolist() == [False, False]
