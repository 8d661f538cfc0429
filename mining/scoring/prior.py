"""How many pairs of a bitext are right, and how sure that makes each of them, from likelihood ratios alone.

A classifier trained where a third of the pairs are right, and the others nearly so, promises too little where noise is
coarse and too much where few pairs are right. What carries over is how scores of right pairs are distributed, and
those of each kind of wrong ones; how many there are of each is estimated where the scores come from, by the EM of
Saerens, Latinne and Decaestecker (2002) over these components. Of text that the encoder knows less well all scores are
lower, so that the components may be moved down together where that explains the scores better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST, MOST = -20.0, 20.0  # log ratios beyond these say nothing more
BINS = 400
_ROUNDS = 300
_SMOOTH = 4.0  # bins: the standard deviation by which components are blurred
_BELIEVED = 4.0  # pairs that are taken for known before any is seen, half of them right: one pair tells no shares
_EMPTY = 1e-6  # density of a bin that no training pair was in
_SHIFTS = range(0, 41, 5)  # bins by which components are moved down, of 0.1 each
_RELUCTANCE = 0.001  # nats of likelihood that every pair, and `_FEW` more, must gain for each bin
_FEW = 1000
_WRONG = -8.0


class Ratios(NamedTuple):
    """Log likelihood ratios of any number of pairs, as counts in bins: they add up over chunks."""

    counts: Floats  # (BINS,)

    @classmethod
    def of(cls, log_ratios: NDArray[np.floating]) -> Ratios:
        return cls(np.bincount(place(log_ratios), minlength=BINS).astype(np.float64))

    def __add__(self, other: Ratios) -> Ratios:  # type: ignore[override]
        return Ratios(self.counts + other.counts)


class Components(NamedTuple):
    """Densities of log ratios: of right pairs, then of each kind of wrong ones."""

    densities: Floats  # (1 + kinds, BINS)

    @classmethod
    def of(cls, tasks: list[tuple[NDArray[np.floating], NDArray[np.int64]]]) -> Components:
        """Of log ratios and the number of each pair's component, task by task; every task weighs the same."""
        from scipy.ndimage import gaussian_filter1d

        kinds = 1 + max(int(numbers.max(initial=0)) for _, numbers in tasks)
        total = np.zeros((kinds, BINS))
        for log_ratios, numbers in tasks:
            for kind in range(kinds):
                counts = Ratios.of(log_ratios[numbers == kind]).counts
                total[kind] += counts / max(counts.sum(), 1)
        blurred = gaussian_filter1d(total[total.any(axis=1)], _SMOOTH, axis=1, mode="nearest") + _EMPTY
        return cls(blurred / blurred.sum(axis=1, keepdims=True))


class Mixture(NamedTuple):
    """What is known of the pairs of one bitext."""

    share: float  # of right pairs
    chances: Floats  # (BINS,) that a pair of this log ratio is right; it never falls

    def probabilities(self, log_ratios: NDArray[np.floating]) -> Floats:
        """NaN where there is no log ratio."""
        known = ~np.isnan(log_ratios)
        return np.where(known, self.chances[place(np.where(known, log_ratios, 0.0))], np.nan)


class Point(NamedTuple):
    """What to expect of the pairs whose log ratio is in the bin `first` or above."""

    first: int
    probability: float  # that a pair at this threshold is right
    precision: float  # of all that are kept

    def keeps(self, log_ratios: NDArray[np.floating]) -> NDArray[np.bool_]:
        return place(log_ratios) >= self.first


def place(log_ratios: NDArray[np.floating]) -> NDArray[np.int64]:
    """The bin of each log ratio."""
    share = (np.asarray(log_ratios, np.float64) - LEAST) / (MOST - LEAST)
    return np.clip((share * BINS).astype(np.int64), 0, BINS - 1)


def fit_mixture(ratios: Ratios, components: Components) -> Mixture:
    """The shares and the shift of all components that make these ratios most likely, and what follows for each bin."""
    from scipy.optimize import isotonic_regression

    pairs = ratios.counts.sum()
    counts = ratios.counts / max(pairs, 1)
    found = [_weighed(_moved_down(components.densities, bins), counts, pairs) for bins in _SHIFTS]
    seen = _far_below_together(ratios.counts)
    likelihoods = np.array([seen @ np.log(_far_below_together(parts.sum(axis=0))) for parts in found])
    parts = found[int(np.argmax(likelihoods - _RELUCTANCE * np.array(_SHIFTS) * (pairs + _FEW)))]
    # Where components have next to no pairs their quotient is chance, so that a bin counts as the pairs it has.
    chances = isotonic_regression(parts[0] / parts.sum(axis=0), weights=counts + _EMPTY).x
    return Mixture(float(parts[0].sum()), np.asarray(chances))


def _far_below_together(values: Floats) -> Floats:
    """Bins below `_WRONG` as one: where all pairs are wrong, how low their ratios are tells of no shift."""
    first = int(place(np.array(_WRONG)))
    return np.concatenate([values[:first].sum(keepdims=True), values[first:]])


def _moved_down(densities: Floats, bins: int) -> Floats:
    """The same densities at ratios that are lower by so many bins."""
    moved = np.full_like(densities, _EMPTY)
    moved[:, : BINS - bins] += densities[:, bins:]
    moved[:, 0] += densities[:, :bins].sum(axis=1)
    return moved / moved.sum(axis=1, keepdims=True) if bins else densities


def _weighed(densities: Floats, counts: Floats, pairs: float) -> Floats:
    """(components, BINS) densities times the shares by which they explain the counts best."""
    shares = np.full(len(densities), 1 / len(densities))
    believed = np.full(len(densities), 0.5 / max(len(densities) - 1, 1))
    believed[0] = 0.5
    for _ in range(_ROUNDS if counts.any() else 0):
        parts = shares[:, None] * densities  # (components, BINS)
        shares = (pairs * (parts / parts.sum(axis=0) @ counts) + _BELIEVED * believed) / (pairs + _BELIEVED)
    return np.asarray(shares[:, None] * densities)


def threshold_for(ratios: Ratios, mixture: Mixture, precision: float) -> Point:
    """The lowest threshold of the wanted precision; where none reaches it, the highest there is."""
    right = ratios.counts * mixture.chances
    above, true = np.cumsum(ratios.counts[::-1])[::-1], np.cumsum(right[::-1])[::-1]
    expected = np.divide(true, above, out=np.ones(BINS), where=above > 0)
    good = np.flatnonzero(expected >= precision)
    first = int(good[0]) if len(good) else BINS - 1
    return Point(first, float(mixture.chances[first]), float(expected[first]))
