"""Which scored pairs to keep. One convention everywhere: a pair is kept when `score >= threshold`.

LASER keeps `score > threshold`; with its default threshold 0 the two differ only on a score of exactly 0.
A threshold that needs no gold is in `mining.calibration`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mining.errors import InputError
from mining.metrics import Curve, best_point, pair_curve

__all__ = ["Curve", "TunedThreshold", "fixed", "top_n", "tune_on_gold", "tuned"]


class TunedThreshold(NamedTuple):
    """The threshold of the best F1 on gold pairs, with what it reaches there and the whole curve."""

    threshold: float
    precision: float
    recall: float
    f1: float
    kept: int
    curve: Curve


def fixed(scores: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Keep what scores at least `threshold`; a NaN score is never kept."""
    return np.asarray(scores) >= threshold


def top_n(scores: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Keep the n best, exactly n where there are that many; equal scores at the border go to the earlier row."""
    if n < 0:
        raise InputError(f"the number of pairs to keep must be 0 or more, not {n}")
    values = np.asarray(scores)
    valid = np.flatnonzero(~np.isnan(values))
    best = valid[np.argsort(-values[valid], kind="stable")[:n]]
    keep = np.zeros(len(values), dtype=bool)
    keep[best] = True
    return keep


def tune_on_gold(pairs: ArrayLike, scores: ArrayLike, gold: ArrayLike) -> TunedThreshold:
    """The threshold of the best F1 (the BUCC protocol); equal scores are kept or dropped together.

    `pairs` and `gold` are (n, 2) arrays of ids of one kind. Tuning and reporting on the same gold flatters: report on
    another set, or label the figure.
    """
    if len(np.asarray(gold)) == 0:
        raise InputError("the gold pairs are empty; a threshold cannot be tuned on them")
    return tuned(pair_curve(pairs, scores, gold))


def tuned(curve: Curve) -> TunedThreshold:
    """The threshold of a curve's best F1."""
    best = best_point(curve)
    return TunedThreshold(best.threshold, best.precision, best.recall, best.f1, best.kept, curve)
