"""Two small fits: counts that fall off smoothly, and shares that only rise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def falling_quadratic(
    counts: NDArray[np.float64], exposure: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Rates per bin: the Poisson regression of counts / exposure on exp(a + b x + c x^2), c <= 0.

    A quadratic term that is not positive makes the rates log-concave, so that their tail keeps falling. `start` is a
    guess of the rates, such as those of a fit of similar counts.
    """
    basis = _quadratic(len(counts))
    guess = np.full(len(counts), (counts.sum() + 1) / exposure / len(counts)) if start is None else start
    first = np.linalg.lstsq(basis, np.log(np.maximum(guess, 1e-300)), rcond=None)[0]
    coefficients = _newton(basis, counts, exposure, first)
    if coefficients[2] > 0:
        line = basis[:, :2]
        first = np.linalg.lstsq(line, basis @ coefficients, rcond=None)[0]
        coefficients = np.append(_newton(line, counts, exposure, first), 0.0)
    return np.exp(basis @ coefficients)


def rising(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest sequence that never falls (weighted least squares), by pooling adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, mass, size = float(value), float(weight), 1
        while blocks and blocks[-1][0] >= mean:
            other, other_mass, other_size = blocks.pop()
            mean = (mean * mass + other * other_mass) / (mass + other_mass)
            mass, size = mass + other_mass, size + other_size
        blocks.append((mean, mass, size))
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])


def _quadratic(size: int) -> NDArray[np.float64]:
    position = (np.arange(size) + 0.5) / size
    return np.stack([np.ones(size), position, position**2], axis=1)


def _newton(
    basis: NDArray[np.float64], counts: NDArray[np.float64], exposure: float, coefficients: NDArray[np.floating]
) -> NDArray[np.floating]:
    unit = np.eye(basis.shape[1])
    for _ in range(100):
        mean = exposure * np.exp(np.clip(basis @ coefficients, -100.0, 50.0))
        curvature = basis.T @ (basis * mean[:, None])
        # Where one bin outweighs all others the curvature is singular but for a little of its own size.
        curvature += (1e-9 + 1e-12 * np.trace(curvature)) * unit
        step = np.linalg.solve(curvature, basis.T @ (counts - mean))
        largest = np.abs(basis @ step).max()
        coefficients = coefficients + step / max(1.0, largest)  # no rate changes by more than e in a step
        if largest < 1e-8:
            break
    return coefficients
