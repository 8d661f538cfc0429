"""How a pair compares with its rivals: the other candidates of the same source, and of the same target."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray


def contrasts(values: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float32]:
    """(pairs, columns) value less the best value of another candidate of the same end.

    `values` is (pairs, columns). Without a rival, or where the value itself is unknown, the contrast is NaN.
    """
    groups = np.unique(ends, return_inverse=True)[1].astype(np.int64)
    rivals = Rivals(int(groups.max(initial=-1)) + 1, values.shape[1])
    rivals.add(values, groups)
    return rivals.contrasts(values, groups)


class Rivals:
    """The two best values of the candidates of each end, which may come in parts: by them each is compared."""

    def __init__(self, ends: int, columns: int) -> None:
        self._best, self._second = np.full((2, columns, ends), -np.inf, np.float32)

    def add(self, values: NDArray[np.float32], ends: NDArray[np.int64]) -> None:
        """More candidates: (pairs, columns), and the number of each one's end."""
        for column, best, second in zip(values.T, self._best, self._second, strict=True):
            _keep_two(np.ascontiguousarray(column), ends, best, second)

    def contrasts(self, values: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float32]:
        """Of candidates that were added: (pairs, columns) value less the best value of another one of the same end."""
        out = np.empty(values.shape, np.float32)
        for number, (best, second) in enumerate(zip(self._best, self._second, strict=True)):
            out[:, number] = _less_best_other(np.ascontiguousarray(values[:, number]), ends, best, second)
        return out


@nb.njit(cache=True, nogil=True)
def _keep_two(values: np.ndarray, ends: np.ndarray, best: np.ndarray, second: np.ndarray) -> None:
    for pair in range(len(values)):
        value, end = values[pair], ends[pair]
        if value > best[end]:  # an unknown value is not
            second[end], best[end] = best[end], value
        elif value > second[end]:
            second[end] = value


@nb.njit(cache=True, nogil=True)
def _less_best_other(values: np.ndarray, ends: np.ndarray, best: np.ndarray, second: np.ndarray) -> np.ndarray:
    out = np.empty(len(values), np.float32)
    for pair in range(len(values)):
        value, end = values[pair], ends[pair]
        other = second[end] if value == best[end] else best[end]  # of two equal best ones both are kept
        out[pair] = value - other if np.isfinite(other) else np.nan
    return out
