"""How many pairs of a bitext are right, and how sure that makes each of them, from likelihood ratios alone.

A classifier trained where a third of the pairs are right, and the others nearly so, promises too little where noise is
coarse and too much where few pairs are right. What carries over is how scores of right pairs are distributed, and
those of each kind of wrong ones; how many there are of each is estimated where the scores come from, by the EM of
Saerens, Latinne and Decaestecker (2002) over these components. Of text that the encoder knows less well right pairs
score lower, and wrong ones hardly: how these score is measured, by noise that is put into pairs of the bitext itself,
and the component of right pairs is moved down where that explains the scores better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.score_counts import ScoreCounts

Floats = NDArray[np.float64]

LEAST, MOST = -20.0, 20.0  # log ratios beyond these say nothing more
BINS = 400
_ROUNDS = 300
_SHARE_ROUNDS = 100  # where the ratios alone tell it
_SMOOTH = 4.0  # bins: the standard deviation by which components are blurred
_BELIEVED = 4.0  # pairs that are taken for known before any is seen, half of them right: one pair tells no shares
_EMPTY = 1e-6  # density of a bin that no training pair was in
_SHIFTS = range(0, 31, 5)  # bins by which the component of right pairs is moved down, of 0.1 each
_RELUCTANCE = 0.0003  # nats of likelihood that every pair, and `_FEW` more, must gain for each bin
_FEW = 1000
_WRONG = -8.0
_REFINED = 4  # times that chances tell which planted pairs were right before, and these the chances
_TRAINED = 5.0  # planted pairs as many as which the components of training weigh
_OWN_ROUNDS = 3  # in which the component of right pairs takes on some of the shape that it has here
_SHAPE = 4.0  # how much more than that its shape in training weighs


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
        kinds = 1 + max(int(numbers.max(initial=0)) for _, numbers in tasks)
        total = np.zeros((kinds, BINS))
        for log_ratios, numbers in tasks:
            for kind in range(kinds):
                counts = Ratios.of(log_ratios[numbers == kind]).counts
                total[kind] += counts / max(counts.sum(), 1)
        return cls(_blurred(total[total.any(axis=1)]))


class Planted(NamedTuple):
    """Log ratios of pairs of a bitext as they are, and after one text of each was spoilt."""

    before: Floats
    after: Floats
    flawed: NDArray[np.bool_]  # the spoilt text is a worse translation; else none at all

    @classmethod
    def nothing(cls) -> Planted:
        return cls(np.empty(0), np.empty(0), np.empty(0, bool))

    def components(self, trained: Components, chances: Floats) -> list[Floats]:
        """Densities of flawed and of unrelated pairs; a flaw counts as far as its pair was right before."""
        right_before = chances[place(self.before)]
        return [
            _density(self.after[self.flawed], right_before[self.flawed], trained.densities[1]),
            _density(self.after[~self.flawed], np.ones(int((~self.flawed).sum())), trained.densities[-1]),
        ]


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


def fit_mixture(ratios: Ratios, components: Components, planted: Planted | None = None) -> Mixture:
    """The shares, and the shift of right pairs, that make these ratios most likely, and what follows for each bin."""
    planted = planted or Planted.nothing()
    mixture = Mixture(1.0, np.ones(BINS))
    for _ in range(_REFINED):
        wrong = planted.components(components, mixture.chances)
        right = _shifted(ratios, components.densities[0], wrong)
        parts = _weighed(np.stack([right, *wrong]), ratios)
        for _ in range(_OWN_ROUNDS):
            own = ratios.counts * parts[0] / parts.sum(axis=0)
            parts = _weighed(np.stack([_blurred(own + _SHAPE * max(own.sum(), 1.0) * right), *wrong]), ratios)
        mixture = _mixture(parts, ratios)
    return mixture


def _mixture(parts: Floats, ratios: Ratios) -> Mixture:
    from scipy.optimize import isotonic_regression

    # Where components have next to no pairs their quotient is chance, so that a bin counts as the pairs it has.
    weights = ratios.counts / max(ratios.counts.sum(), 1) + _EMPTY
    return Mixture(
        float(parts[0].sum()), np.asarray(isotonic_regression(parts[0] / parts.sum(axis=0), weights=weights).x)
    )


def _shifted(ratios: Ratios, right: Floats, wrong: list[Floats]) -> Floats:
    """The component of right pairs, as far down as explains the ratios best."""
    seen = _far_below_together(ratios.counts)
    moved = [_moved_down(right, bins) for bins in _SHIFTS]
    means = [_weighed(np.stack([down, *wrong]), ratios).sum(axis=0) for down in moved]
    likelihoods = np.array([seen @ np.log(_far_below_together(mean)) for mean in means])
    return moved[int(np.argmax(likelihoods - _RELUCTANCE * np.array(_SHIFTS) * (ratios.counts.sum() + _FEW)))]


def _density(log_ratios: Floats, weights: Floats, trained: Floats) -> Floats:
    return _blurred(np.bincount(place(log_ratios), weights, BINS) + _TRAINED * trained)


def _blurred(counts: Floats) -> Floats:
    """The counts as a density, smooth and nowhere zero."""
    from scipy.ndimage import gaussian_filter1d

    blurred = gaussian_filter1d(counts / counts.sum(axis=-1, keepdims=True), _SMOOTH, axis=-1, mode="nearest") + _EMPTY
    return np.asarray(blurred / blurred.sum(axis=-1, keepdims=True))


def _far_below_together(values: Floats) -> Floats:
    """Bins below `_WRONG` as one: where all pairs are wrong, how low their ratios are tells of no shift."""
    first = int(place(np.array(_WRONG)))
    return np.concatenate([values[:first].sum(keepdims=True), values[first:]])


def _moved_down(density: Floats, bins: int) -> Floats:
    """The same density at ratios that are lower by so many bins."""
    moved = np.full_like(density, _EMPTY)
    moved[: BINS - bins] += density[bins:]
    moved[0] += density[:bins].sum()
    return moved / moved.sum()


def _weighed(densities: Floats, ratios: Ratios) -> Floats:
    """(components, BINS) densities times the shares by which they explain the ratios best."""
    pairs = ratios.counts.sum()
    counts = ratios.counts / max(pairs, 1)
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


def precision_by_ratios(log_ratios: ScoreCounts, threshold: float) -> float:
    """Of pairs above a threshold, where the scores are log likelihood ratios: the share of right pairs is found by EM.

    Good where a third and more of the pairs are right; where few are, too low (docs/tried.md, Calibration).
    """
    edges = np.linspace(LEAST, MOST, BINS + 1)
    middles, counts = (edges[1:] + edges[:-1]) / 2, log_ratios.histogram(edges).astype(np.float64)
    share = 0.5
    for _ in range(_SHARE_ROUNDS):
        odds = share / (1 - share) * np.exp(middles)
        right = counts * odds / (1 + odds)
        share = float(np.clip(right.sum() / max(counts.sum(), 1.0), 1e-6, 1 - 1e-6))
    above = middles >= threshold
    return float(right[above].sum() / max(counts[above].sum(), 1.0))
