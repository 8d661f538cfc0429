"""From marks to a precision curve with bounds, and to the threshold for a wanted precision.

The sample has as many pairs of every band, the corpus has not: each mark stands for as many pairs as its band has for
every pair marked in it. The precision above a threshold is the weighed share of right marks above it, and its bounds
are Wilson's (1927), with Kish's effective number of marks, (sum of weights)^2 / (sum of squared weights). Unlike a
bootstrap these do not collapse where all marks agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipelines.mine.review_result import ReviewCurve, ReviewResult
from pipelines.mine.score_curve import thinned
from pipelines.review.marks import Verdict
from pipelines.review.review_sample import ReviewSample

_Z = 1.6449  # leaves 5% on either side
Array = NDArray[np.float64]


class Marked(NamedTuple):
    """The pairs that were found right or wrong, best score first, and how many pairs each stands for."""

    scores: Array
    right: NDArray[np.bool_]
    weights: Array


def estimate(sample: ReviewSample, scores: NDArray, verdicts: Mapping[str, Verdict], wanted: float) -> ReviewResult:
    """What the marks so far say of all pairs, whose `scores` are given best first."""
    found = [verdicts[pair.key] for pair in sample.sampled if pair.key in verdicts]
    curve = precision_curve(scores, weigh(sample, verdicts))
    return ReviewResult(
        pairs=sample.pairs,
        right=found.count("right"),
        wrong=found.count("wrong"),
        skipped=found.count("skip"),
        wanted=wanted,
        curve=curve,
        **_choice(curve, wanted),
    )


def weigh(sample: ReviewSample, verdicts: Mapping[str, Verdict]) -> Marked:
    """The marks that count, with their weights."""
    marked = [pair for pair in sample.sampled if verdicts.get(pair.key) in ("right", "wrong")]
    marked.sort(key=lambda pair: -pair.score)
    bands = np.array([pair.band for pair in marked], np.int64)
    share = np.array(sample.counts) / np.maximum(np.bincount(bands, minlength=len(sample.counts)), 1)
    right = np.array([verdicts[pair.key] == "right" for pair in marked], bool)
    return Marked(np.array([pair.score for pair in marked]), right, share[bands])


def precision_curve(scores: NDArray, marked: Marked) -> ReviewCurve:
    """Precision above every threshold; empty without a mark, and anything is possible above the best mark."""
    points = thinned(len(scores)) if len(marked.scores) else np.empty(0, np.int64)
    if not len(points):
        return ReviewCurve(threshold=[], kept=[], precision=[], precision_low=[], precision_high=[])
    thresholds = scores[points].astype(np.float64)
    above = np.searchsorted(-marked.scores, -thresholds, side="right")  # marks that score at least this
    last = np.maximum(above - 1, 0)
    total = np.cumsum(marked.weights)[last]
    precision = np.cumsum(marked.weights * marked.right)[last] / total
    effective = np.where(above > 0, total**2 / np.cumsum(marked.weights**2)[last], 0.0)
    low, high = wilson(precision, effective)
    return ReviewCurve(
        threshold=thresholds.tolist(),
        kept=np.searchsorted(-scores, -scores[points], side="right").tolist(),
        precision=precision.tolist(),
        precision_low=low.tolist(),
        precision_high=high.tolist(),
    )


def wilson(share: Array, size: Array) -> tuple[Array, Array]:
    """Wilson's score interval of a share; all of 0 to 1 where the size is 0."""
    known = np.maximum(size, 1e-12)
    shrunk = 1 + _Z**2 / known
    centre = (share + _Z**2 / (2 * known)) / shrunk
    half = _Z / shrunk * np.sqrt(share * (1 - share) / known + (_Z / (2 * known)) ** 2)
    # Rounding must not put the share itself outside.
    return np.clip(np.minimum(centre - half, share), 0, 1), np.clip(np.maximum(centre + half, share), 0, 1)


def _choice(curve: ReviewCurve, wanted: float) -> dict[str, float | int | None]:
    """The lowest threshold whose estimate reaches the wanted precision."""
    good = [place for place, precision in enumerate(curve.precision) if precision >= wanted]
    if not good:
        return {"threshold": None}
    names = ("threshold", "precision", "precision_low", "precision_high", "kept")
    return {name: getattr(curve, name)[good[-1]] for name in names}
