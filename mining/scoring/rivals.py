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
    count = int(groups.max(initial=-1)) + 1
    parts = [_less_best_other(np.ascontiguousarray(column), groups, count) for column in values.T]
    return np.stack(parts, axis=1) if parts else np.empty((len(ends), 0), np.float32)


@nb.njit(cache=True, nogil=True)
def _less_best_other(values: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    first = np.full(groups, -np.inf, np.float32)
    second = np.full(groups, -np.inf, np.float32)
    owner = np.full(groups, -1, np.int64)
    for pair in range(len(values)):
        value, place = values[pair], group[pair]
        if np.isnan(value):
            continue
        if value > first[place]:
            second[place], first[place], owner[place] = first[place], value, pair
        elif value > second[place]:
            second[place] = value
    out = np.empty(len(values), np.float32)
    for pair in range(len(values)):
        place = group[pair]
        best = second[place] if owner[place] == pair else first[place]
        out[pair] = values[pair] - best if np.isfinite(best) else np.nan
    return out
