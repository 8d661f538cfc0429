"""How many pairs are right, and how sure that makes each of them, from likelihood ratios alone.

A classifier trained where a third of the pairs are right promises too much where few are. What carries over is the
likelihood ratio of a score; the share of right pairs is estimated where the scores come from, by maximum likelihood,
which is what the EM of Saerens, Latinne and Decaestecker (2002) converges to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST, MOST = -20.0, 20.0  # log ratios beyond these say nothing more
BINS = 4000
_LIMIT = 1e-6


class Ratios(NamedTuple):
    """Log likelihood ratios of any number of pairs, as counts in bins: they add up over chunks."""

    counts: Floats  # (BINS,)

    @classmethod
    def of(cls, log_ratios: NDArray[np.floating]) -> Ratios:
        return cls(np.bincount(place(log_ratios), minlength=BINS).astype(np.float64))

    def __add__(self, other: Ratios) -> Ratios:  # type: ignore[override]
        return Ratios(self.counts + other.counts)


def place(log_ratios: NDArray[np.floating]) -> NDArray[np.int64]:
    """The bin of each log ratio."""
    share = (np.asarray(log_ratios, np.float64) - LEAST) / (MOST - LEAST)
    return np.clip((share * BINS).astype(np.int64), 0, BINS - 1)


def _centres() -> Floats:
    return LEAST + (np.arange(BINS) + 0.5) * (MOST - LEAST) / BINS


def right_share(ratios: Ratios) -> float:
    """The share of right pairs that makes these ratios most likely, by bisection: the likelihood is concave."""
    gain = np.expm1(_centres())

    def slope(share: float) -> float:
        return float(ratios.counts @ (gain / (1 + share * gain)))

    low, high = _LIMIT, 1 - _LIMIT
    if not ratios.counts.any() or slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def log_odds(log_ratios: NDArray[np.floating], share: float) -> Floats:
    """The log odds that pairs are right where this share of all pairs is."""
    return np.asarray(log_ratios, np.float64) + np.log(share / (1 - share))


def probabilities(log_ratios: NDArray[np.floating], share: float) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds(log_ratios, share), -40, 40))))


class Point(NamedTuple):
    """What to expect of the pairs whose log ratio is in the bin `first` or above."""

    first: int
    probability: float  # that a pair at this threshold is right
    precision: float  # of all that are kept

    def keeps(self, log_ratios: NDArray[np.floating]) -> NDArray[np.bool_]:
        return place(log_ratios) >= self.first


def threshold_for(ratios: Ratios, share: float, precision: float) -> Point:
    """The lowest threshold of the wanted precision; where none reaches it, the highest there is."""
    right = ratios.counts * probabilities(_centres(), share)
    above, true = np.cumsum(ratios.counts[::-1])[::-1], np.cumsum(right[::-1])[::-1]
    expected = np.divide(true, above, out=np.ones(BINS), where=above > 0)
    good = np.flatnonzero(expected >= precision)
    first = int(good[0]) if len(good) else BINS - 1
    return Point(first, float(probabilities(_centres()[first : first + 1], share)[0]), float(expected[first]))
