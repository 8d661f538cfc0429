"""Products with a small matrix: right, and the same whatever rows come together."""

from __future__ import annotations

import numpy as np
import pytest

from mining.row_products import row_products


@pytest.mark.parametrize("width", [1, 63, 64, 100, 128])
def test_products_are_those_of_numpy(width: int) -> None:
    draw = np.random.default_rng(0)
    rows, matrix = draw.standard_normal((37, 50), np.float32), draw.standard_normal((50, width), np.float32)
    np.testing.assert_allclose(row_products(rows, matrix), rows.astype(np.float64) @ matrix, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 500])
def test_a_row_has_the_same_product_in_any_batch(size: int) -> None:
    draw = np.random.default_rng(0)
    rows, matrix = draw.standard_normal((1000, 256), np.float32), draw.standard_normal((256, 100), np.float32)
    parts = [row_products(rows[first : first + size], matrix) for first in range(0, len(rows), size)]
    np.testing.assert_array_equal(np.concatenate(parts), row_products(rows, matrix))


def test_no_rows_and_rows_that_are_not_contiguous() -> None:
    draw = np.random.default_rng(0)
    rows, matrix = draw.standard_normal((10, 16), np.float32), draw.standard_normal((12, 8), np.float32).T
    found = row_products(rows[:, ::2], matrix)
    np.testing.assert_array_equal(found, row_products(rows[:, ::2].copy(), matrix.copy()))
    assert row_products(rows[:0, :8], matrix).shape == (0, 12)
