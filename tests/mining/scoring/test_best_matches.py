from __future__ import annotations

import numpy as np
import pytest

from mining.scoring.best_matches import LANES, WORDS, note_matches


@pytest.mark.parametrize("width", range(LANES, 81, LANES))
def test_matches_are_those_of_all_products(width: int) -> None:
    """Whole numbers, whose products have no rounding, and few of them, so that many are equal."""
    rng = np.random.default_rng(width)
    left = rng.integers(-2, 3, (7, width)).astype(np.float32)
    vectors = rng.integers(-2, 3, (30, 7)).astype(np.float32)
    words = rng.integers(0, 30, 4 * WORDS)
    best, place = np.full(width, -99, np.float32), np.full(width, -1, np.int32)
    other_best = np.full(len(words), -99, np.float32)
    for first in range(0, len(words), WORDS):
        four = tuple(words[first : first + WORDS])
        note_matches(left.ravel(), width, vectors, four, first, best, place, other_best)
    products = vectors[words] @ left  # (words, width)
    np.testing.assert_array_equal(best, products.max(0))
    np.testing.assert_array_equal(place, products.argmax(0))  # the first of equal ones
    np.testing.assert_array_equal(other_best, products.max(1))
