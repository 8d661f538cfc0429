"""What a mine knows of all its matched pairs, those below the threshold too: kept as `curve.json` beside the pairs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from mining.calibration import CalibratedCurve
from mining.even_rows import evenly_spread
from mining.metrics import Curve
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import join, read_model, write_model

CURVE = "curve.json"
_BINS = 60
_POINTS = 300
_AT_ONCE = 1 << 20  # of the different scores, which become double precision for a histogram


class ScoreCurve(BaseModel):
    """A histogram of scores, and one point per threshold, highest first: what is kept, and how good it is if known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    basis: Literal["none", "gold", "calibration"] = "none"
    edges: list[float]  # of the bins of the histogram, lowest first; the last bin holds everything above, too
    counts: list[int]
    threshold: list[float]
    kept: list[int]
    precision: list[float] = []
    precision_low: list[float] = []
    precision_high: list[float] = []
    recall: list[float] = []
    warning: str = ""  # why the estimate is not reliable at the threshold that was chosen

    @classmethod
    def of(cls, scores: ScoreCounts, known: Curve | CalibratedCurve | None, warning: str = "") -> ScoreCurve:
        """Of the scores of all matched corpus pairs, and the curve that gold or probe pairs gave."""
        edges, counts = histogram(scores)
        if known is None:
            counted = scores.kept
            places = np.searchsorted(counted, thinned(scores.total), side="right")
            kept = counted[places]  # equal scores are kept together
            points = scores.values[places].astype(np.float64).tolist()
            return cls(edges=edges, counts=counts, threshold=points, kept=kept.tolist(), warning=warning)
        rows = thinned(len(known.threshold))
        names = ("threshold", "kept", "precision", "recall", "precision_low", "precision_high")
        columns = {name: getattr(known, name)[rows].tolist() for name in names if hasattr(known, name)}
        basis = "calibration" if isinstance(known, CalibratedCurve) else "gold"
        return cls(basis=basis, edges=edges, counts=counts, warning=warning, **columns)

    def reaching(self, precision: float) -> float | None:
        """The lowest threshold with this precision, if that is known of any."""
        known = zip(self.threshold, self.precision, strict=True) if self.precision else ()
        return min((threshold for threshold, reached in known if reached >= precision), default=None)

    def write(self, folder: str) -> None:
        write_model(join(folder, CURVE), self)

    @classmethod
    def read(cls, folder: str) -> ScoreCurve | None:
        return read_model(join(folder, CURVE), cls)


def histogram(scores: ScoreCounts, bins: int = _BINS) -> tuple[list[float], list[int]]:
    """Equal bins from the lowest score on; one score in a thousand may lie above the last edge and counts there."""
    if not scores.total:
        return [], []
    low, high = float(scores.values[-1]), scores.quantile(0.999)
    counts, edges = np.zeros(bins, np.int64), np.empty(0)
    for first in range(0, len(scores.values), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        values = np.clip(scores.values[part].astype(np.float64), low, high)
        found, edges = np.histogram(values, bins, (low, max(high, low + 1e-6)), weights=scores.counts[part])
        counts += found
    return edges.tolist(), counts.tolist()


def thinned(points: int) -> np.ndarray:
    """Rows of a long curve that are enough to draw it."""
    return evenly_spread(points, _POINTS)
