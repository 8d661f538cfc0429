from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from mining.lane_sums import LANES
from mining.top_k import dot


def canonical(x: np.ndarray, y: np.ndarray) -> float:
    """Lane by lane, then over the lanes, then what is left: all in float64, where products are exact."""
    products = x.astype(np.float64) * y.astype(np.float64)
    whole = len(x) // LANES * LANES
    sums = np.zeros(LANES)
    for row in products[:whole].reshape(-1, LANES):
        sums += row
    total = 0.0
    for value in [*sums, *products[whole:]]:
        total += value
    return float(total)


@pytest.mark.parametrize("dim", [0, 1, 31, 32, 33, 64, 100, 256, 1000])
def test_dot_has_the_bits_of_its_order(dim: int) -> None:
    rng = np.random.default_rng(dim)
    x, y = (rng.standard_normal((2, dim)) * rng.lognormal(0, 5, (2, dim))).astype(np.float32)
    strided = np.stack([x, x], axis=1)[:, 0]  # which is not contiguous, and summed in memory
    assert dot(x, y) == dot(strided, y) == canonical(x, y)
    assert dot(x, y) == pytest.approx(fsum(x.astype(float) * y.astype(float)))
