"""Selection of the nearest cells against a plain sort."""

import numpy as np
import pytest

from mining.nearest_kernels import LOWEST, enter, enter_nearest


def sorted_cells(products: np.ndarray, cells: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """By product and then by cell number."""
    order = np.lexsort((np.broadcast_to(cells, products.shape), -products.astype(np.int64)))[:, :count]
    return cells[order], np.take_along_axis(products, order, 1)


def empty(rows: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((rows, count), LOWEST), np.full((rows, count), -1, np.int32)


@pytest.mark.parametrize("different", [2, 50, 1 << 22])  # products, so that there are many ties, some, or none
@pytest.mark.parametrize(("columns", "count"), [(1, 1), (5, 5), (7, 3), (64, 20), (641, 20), (3000, 20), (900, 500)])
def test_the_best_are_those_of_a_sort(columns: int, count: int, different: int) -> None:
    draw = np.random.default_rng(columns)
    products = draw.integers(-different, different, (40, columns + 3), dtype=np.int32)
    cells, (top, best) = draw.permutation(columns).astype(np.int32), empty(40, count)
    enter(products, cells, np.arange(40), top, best)
    expected = sorted_cells(products[:, :columns], cells, count)  # further columns mean nothing
    np.testing.assert_array_equal(best, expected[0])
    np.testing.assert_array_equal(top, expected[1])


@pytest.mark.parametrize("different", [3, 1 << 20])
def test_columns_in_parts_that_share_cells_are_the_same_as_all_at_once(different: int) -> None:
    products = np.random.default_rng(0).integers(-different, different, (30, 300), dtype=np.int32)
    top, best = empty(50, 20)
    places = np.random.default_rng(1).permutation(50)[:30]
    for part in (np.arange(5), np.arange(3, 200), np.arange(150, 300)[::-1], np.arange(0, 300, 7)):
        enter(np.ascontiguousarray(products[:, part]), part.astype(np.int32), places, top, best)
    expected = sorted_cells(products, np.arange(300, dtype=np.int32), 20)
    np.testing.assert_array_equal(best[places], expected[0])
    np.testing.assert_array_equal(top[places], expected[1])
    others = np.setdiff1d(np.arange(50), places)
    assert (best[others] == -1).all()


def test_fewer_cells_than_wanted_leave_the_list_unfilled() -> None:
    top, best = empty(1, 4)
    enter(np.array([[3, 9]], np.int32), np.array([7, 2], np.int32), np.arange(1), top, best)
    assert best.tolist() == [[2, 7, -1, -1]]


@pytest.mark.parametrize("columns", [1, 127, 129, 1000])
def test_the_nearest_is_the_first_of_the_highest(columns: int) -> None:
    products = np.random.default_rng(columns).integers(-20, 20, (60, columns + 2), dtype=np.int32)
    cells, (top, best) = np.arange(columns, dtype=np.int32) + 5, empty(60, 1)
    enter_nearest(products, cells, np.arange(60), top, best)
    np.testing.assert_array_equal(best[:, 0], products[:, :columns].argmax(1) + 5)
    np.testing.assert_array_equal(top[:, 0], products[:, :columns].max(1))
    enter_nearest(products, cells + 9, np.arange(60), top, best)
    np.testing.assert_array_equal(best[:, 0], products[:, :columns].argmax(1) + 5)  # as near, but later
