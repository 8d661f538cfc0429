"""A threshold for other corpora than those whose gold it was tuned on.

Margins fall where corpora are larger, as the neighbours that a pair is measured against are nearer. The scores of mined
pairs that are no translations fall with them: they tell where a threshold belongs.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_LOW = 0.1  # quantile


class NoiseLevel(NamedTuple):
    """Where the scores of pairs that are no translations lie, if most of the mined pairs are none.

    Only the lower half is looked at: how many pairs are translations moves it little.
    """

    middle: float
    spread: float

    @classmethod
    def of(cls, scores: NDArray[np.floating]) -> Self:
        """Of the best pair of each sentence, whatever its score."""
        if not len(scores):
            return cls(0.0, 0.0)
        low, middle = np.quantile(scores.astype(np.float64), [_LOW, 0.5])
        return cls(float(middle), float(middle - low))


def transferred(threshold: float, tuned_on: NDArray[np.floating], scores: NDArray[np.floating]) -> float:
    """The threshold for pairs with these scores: as many spreads above the middle as where it was tuned."""
    before, after = NoiseLevel.of(tuned_on), NoiseLevel.of(scores)
    if not before.spread or not after.spread:  # too few scores to tell
        return threshold
    return after.middle + (threshold - before.middle) * after.spread / before.spread
