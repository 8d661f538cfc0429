"""The two fits against scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression

from mining.fitting import falling_quadratic, rising


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 10)), min_size=1, max_size=30))
def test_rising_equals_isotonic_regression(points: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*points, strict=True))
    np.testing.assert_allclose(rising(values, weights), isotonic_regression(values, sample_weight=weights), atol=1e-9)


@pytest.mark.parametrize("coefficients", [(2.0, -5.0, -3.0), (2.0, -8.0, 0.0), (1.0, -9.0, 4.0), (4.0, 1.0, -12.0)])
@pytest.mark.parametrize("size", [12, 40])
def test_falling_quadratic_has_the_highest_likelihood(coefficients: tuple, size: int) -> None:
    position = (np.arange(size) + 0.5) / size
    basis = np.stack([np.ones(size), position, position**2], axis=1)
    counts = np.random.default_rng(1).poisson(50 * np.exp(basis @ coefficients)).astype(float)

    def loss(guess: np.ndarray) -> float:
        return float((50 * np.exp(basis @ guess)).sum() - counts @ (basis @ guess))

    best = minimize(loss, np.zeros(3), bounds=[(None, None), (None, None), (None, 0)], method="L-BFGS-B", tol=1e-12)
    rates = falling_quadratic(counts, 50.0)
    ours = float((50 * rates).sum() - counts @ np.log(rates))
    assert ours <= best.fun + 1e-3
    assert np.diff(np.log(rates), 2).max() <= 1e-9


def test_no_counts_give_next_to_no_rates() -> None:
    assert falling_quadratic(np.zeros(10), 100.0).sum() < 1e-3


@pytest.mark.parametrize("peak", [0, 39])
@pytest.mark.parametrize("count", [1.0, 1e6])
def test_counts_in_a_single_bin_still_fit(peak: int, count: float) -> None:
    """One bin that outweighs all others, from a guess that is far off, once made the curvature singular."""
    counts = np.zeros(40)
    counts[peak] = count
    start = np.full(40, 1e-300)
    start[39 - peak] = 1e18
    rates = falling_quadratic(counts, 1e-3, start)
    assert np.isfinite(rates).all()
