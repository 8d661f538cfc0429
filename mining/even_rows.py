"""Some rows that stand for all."""

from __future__ import annotations

import numpy as np


def evenly_spread(count: int, most: int) -> np.ndarray:
    """Places of at most `most` of `count` rows: sorted, all different, the first and the last among them.

    All of them where there are no more than `most`; none of none. Of one place, it is the first.
    """
    # Steps are of a row or more, so that no two places fall together when they are cut to whole numbers.
    return np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64)


def spread_between(first: int, end: int, count: int, most: int) -> np.ndarray:
    """Those of `evenly_spread` from `first` to before `end`."""
    spread = evenly_spread(count, most)
    return spread[slice(*np.searchsorted(spread, [first, end]))]
