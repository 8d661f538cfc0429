"""From marks to a precision curve with bounds, and to the threshold for a wanted precision.

The sample has as many pairs of every band, the corpus has not: the share of right pairs of a band counts as often as
the band has pairs. Shares are made monotone in the score (better scores are not less often right), which lets thin
bands lean on their neighbours. Bounds come from the posterior of each band's share under Jeffreys' prior,
Beta(right + 1/2, wrong + 1/2), drawn many times and made monotone each time: unlike a bootstrap they do not collapse
where all marks agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.fitting import rising
from pipelines.report.bands import Bands
from pipelines.review.marks import Verdict
from pipelines.review.result import ReviewCurve, ReviewResult
from pipelines.review.sample import ReviewSample
from pipelines.score_curve import thinned

_DRAWS = 400
_RANKS = 100_000  # more would slow each key press and change nothing
_BOUNDS = (0.05, 0.95)


class Population(NamedTuple):
    """All pairs that the sample stands for: scores at even ranks, best first, and the mean score of each band."""

    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]  # from 0
    centres: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray, bands: Bands) -> Population:
        ordered = np.sort(scores.astype(np.float64))[::-1]
        numbers = bands.of(ordered)
        sums = np.bincount(numbers, ordered, len(bands.counts))
        ranks = thinned(len(ordered), _RANKS)
        centres = sums / np.maximum(np.bincount(numbers, minlength=len(bands.counts)), 1)
        return cls(ordered[ranks], ranks, centres)


def bands_of(sample: ReviewSample) -> Bands:
    return Bands(np.array(sample.borders), np.array(sample.counts))


def estimate(
    sample: ReviewSample, population: Population, verdicts: Mapping[str, Verdict], wanted: float
) -> ReviewResult:
    """What the marks so far say."""
    marks = [(pair.band, verdicts[pair.key]) for pair in sample.sampled if pair.key in verdicts]
    right, wrong = (
        np.bincount([band for band, verdict in marks if verdict == name], minlength=len(sample.counts))
        for name in ("right", "wrong")
    )
    skipped = sum(verdict == "skip" for _, verdict in marks)
    curve = precision_curve(population, right, wrong)
    return ReviewResult(
        pairs=sample.pairs,
        right=int(right.sum()),
        wrong=int(wrong.sum()),
        skipped=skipped,
        wanted=wanted,
        curve=curve,
        **_choice(curve, wanted),
    )


def precision_curve(population: Population, right: NDArray, wrong: NDArray) -> ReviewCurve:
    """Precision above every threshold, from the right and the wrong of each band; empty without a mark."""
    marked = right + wrong
    known = np.flatnonzero(marked)
    points = thinned(len(population.scores)) if len(known) else np.empty(0, np.int64)
    if not len(points):
        return ReviewCurve(threshold=[], kept=[], precision=[], precision_low=[], precision_high=[])
    weights, centres = marked[known].astype(np.float64), population.centres[known]

    # Between the centres of bands the share is a line, so a precision is a mean of the shares with fixed weights.
    hats = np.stack([np.interp(population.scores, centres, unit) for unit in np.eye(len(known))])
    means = (np.cumsum(hats, axis=1) / np.arange(1, hats.shape[1] + 1))[:, points]  # (bands, points)
    rng = np.random.default_rng(0)
    draws = rng.beta(right[known] + 0.5, wrong[known] + 0.5, (_DRAWS, len(known)))
    low, high = np.quantile([rising(shares, weights) @ means for shares in draws], _BOUNDS, axis=0)
    precision = rising(right[known] / weights, weights) @ means
    return ReviewCurve(
        threshold=population.scores[points].tolist(),
        kept=(population.ranks[points] + 1).tolist(),
        precision=precision.tolist(),
        precision_low=np.minimum(low, precision).tolist(),
        precision_high=np.maximum(high, precision).tolist(),
    )


def _choice(curve: ReviewCurve, wanted: float) -> dict[str, float | int | None]:
    """The lowest threshold whose estimate reaches the wanted precision."""
    good = [place for place, precision in enumerate(curve.precision) if precision >= wanted]
    if not good:
        return {"threshold": None}
    names = ("threshold", "precision", "precision_low", "precision_high", "kept")
    return {name: getattr(curve, name)[good[-1]] for name in names}
