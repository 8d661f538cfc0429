"""Margins: how much closer a pair is than its two sentences' neighbourhoods (Artetxe and Schwenk 2019)."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

import numpy as np

# Neighbourhoods whose mean similarity is below this are no nearer than chance. A ratio divides by at least this much,
# so it stays finite and keeps the sign of the cosine.
SMALLEST_MEAN = 1e-3


class Margin(StrEnum):
    """`absolute` is the plain cosine; `ratio` is what LASER, EMS and the BUCC results use."""

    absolute = "absolute"
    distance = "distance"
    ratio = "ratio"


def margin_scores(
    cosines: np.ndarray, source_means: np.ndarray, target_means: np.ndarray, margin: Margin = Margin.ratio
) -> np.ndarray:
    """Margin of each pair from its cosine and the mean neighbour cosines of its two ends, as float32.

    ratio: cos(x, y) / (a(x) / 2 + b(y) / 2); distance: cos(x, y) - (a(x) / 2 + b(y) / 2). Where the mean of the
    neighbourhoods is below `SMALLEST_MEAN` or negative, `ratio` divides by `SMALLEST_MEAN`.
    """
    cosines = np.asarray(cosines, np.float64)
    mean = source_means / 2 + target_means / 2
    match Margin(margin):
        case Margin.absolute:
            scores = cosines
        case Margin.distance:
            scores = cosines - mean
        case Margin.ratio:
            scores = cosines / np.maximum(mean, SMALLEST_MEAN)
        case unknown:
            assert_never(unknown)
    return scores.astype(np.float32)
