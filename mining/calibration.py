"""A threshold without gold: add probe pairs, which are known translations, to the corpora, and see how they match.

A probe always has its counterpart, a corpus sentence mostly has not, so the precision among probes says nothing about
the corpora. Therefore some seed pairs are added in full and of others one side only: full probes tell how many true
pairs are found with which score, one-sided probes how many sentences without a counterpart are matched, falsely, with
which score. `mining.poisson_mixture` divides the corpus matches into true and false by them, in the spirit of Efron's
local false discovery rates (2004), and says what the probes leave open: that is the interval of the precision. Where it
is wide, or the probes do not separate true from false, the estimate is marked as not reliable, and nobody may claim it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mining.errors import InputError, UnreachablePrecision
from mining.even_rows import evenly_spread
from mining.poisson_mixture import Bins, Draws, draw, histograms
from mining.probes import Evidence, ProbeRows, gather
from mining.score_counts import ScoreCounts

_DRAWS = 400
_RANKS = 1000
# Beyond these the error can be 20 points and more (docs/results.md, Calibration).
_WIDEST = 0.25
_LEAST_FOUND = 0.35
_LEAST_TRUE = 50.0
_HANDFUL = 10  # a precision that only so few pairs reach is no answer
# The best scores are those of the best tenth of the full probes; so much more than expected is suspicious there.
_TOP = 0.9
_EXCESS, _LEAST_EXCESS = 4.0, 20.0


class CredibleInterval(NamedTuple):
    """It holds 90% of the posterior."""

    low: float
    high: float


class CalibratedCurve(NamedTuple):
    """One point per distinct score of the corpus pairs, highest first: what is expected when `score >= threshold`."""

    threshold: NDArray[np.float64]
    precision: NDArray[np.float64]
    precision_low: NDArray[np.float64]
    precision_high: NDArray[np.float64]
    recall: NDArray[np.float64]
    kept: NDArray[np.int64]


class CalibratedPoint(NamedTuple):
    """What to expect at one threshold; when it is not `reliable`, `reason` says why in one sentence.

    It may still be the `best_guess`: there is evidence enough, but it leaves much open.
    """

    threshold: float
    precision: float
    interval: CredibleInterval
    recall: float
    kept: int
    reliable: bool = True
    reason: str = ""
    best_guess: bool = True


class TopBand(NamedTuple):
    """The corpus pairs that score as the best tenth of the full probes, and how many of them the probes explain."""

    threshold: float
    kept: int
    expected: float
    suspicious: bool

    def warning(self) -> str:
        """One sentence, empty when nothing looks wrong."""
        if not self.suspicious:
            return ""
        return (
            f"{self.kept:,} pairs score {self.threshold:.3f} or more, where the probe pairs explain about "
            f"{self.expected:,.0f}: the best scores look wrong (copied text, boilerplate, lists of numbers?)"
        )


class Calibration(NamedTuple):
    """The estimated curve, the estimated number of true pairs in the corpora, and how far both can be trusted.

    `domain_distance` (0 to 1.5) is the log of how much oftener than by chance probes are matched with other probes: 0
    where the seed pairs are of the domain of the corpora.
    """

    curve: CalibratedCurve
    true_pairs: float
    interval: CredibleInterval
    domain_distance: float
    top: TopBand
    found: int  # full probes that score above the bulk of the false matches
    full: int  # full probes

    def threshold_for(self, target_precision: float) -> CalibratedPoint:
        """The lowest threshold whose estimated precision reaches the target."""
        if not 0 < target_precision <= 1:
            raise InputError(f"the target precision must be above 0 and at most 1, not {target_precision}")
        good = np.flatnonzero((self.curve.precision >= target_precision) & (self.curve.kept >= _HANDFUL))
        if not len(good):
            enough = self.curve.precision[self.curve.kept >= _HANDFUL]
            best = np.floor(1e4 * enough.max(initial=0.0)) / 1e4  # never rounded up to the target
            raise UnreachablePrecision(
                f"no threshold reaches the precision {target_precision:g}: the estimate is at most {best:.4f}; "
                "lower the target, or use a better encoder or cleaner corpora"
            )
        return self.at(float(self.curve.threshold[good[-1]]))

    def at(self, threshold: float) -> CalibratedPoint:
        """The estimates when everything that scores at least `threshold` is kept."""
        point = int(np.count_nonzero(self.curve.threshold >= threshold)) - 1
        if point < 0:
            return CalibratedPoint(threshold, 1.0, CredibleInterval(0.0, 1.0), 0.0, 0, False, "nothing is kept", False)
        _, precision, low, high, recall, kept = (column[point] for column in self.curve)
        interval = CredibleInterval(float(low), float(high))
        lacking = self._lacking(float(precision) * int(kept))
        reason = lacking or self._doubt(interval)
        return CalibratedPoint(
            threshold, float(precision), interval, float(recall), int(kept), not reason, reason, not lacking
        )

    def _lacking(self, true: float) -> str:
        """Why there is too little evidence, if so."""
        if self.found < _LEAST_FOUND * self.full:
            return (
                f"only {self.found:,} of {self.full:,} full probe pairs score above most false matches: the encoder is "
                "too weak here for its precision to be estimated"
            )
        if true < _LEAST_TRUE:
            return f"only {true:,.0f} true pairs are expected here, too few for an estimate"
        return ""

    def _doubt(self, interval: CredibleInterval) -> str:
        if interval.high - interval.low > _WIDEST:
            return (
                f"the precision may be anything from {interval.low:.0%} to {interval.high:.0%}: more seed pairs, of "
                "the domain of the corpora, would narrow it"
            )
        return self.top.warning()


def calibrate(
    src_rows: ArrayLike,
    tgt_rows: ArrayLike,
    scores: ArrayLike,
    *,
    n_src: int,
    n_tgt: int,
    probes: ProbeRows,
    corpus: ScoreCounts | None = None,
    random_seed: int = 0,
) -> Calibration:
    """Estimate precision, recall and yield at every threshold from matches in corpora with probes in them.

    The matches are those of the corpora mined together with the probes, with no threshold applied; `n_src` and `n_tgt`
    count all rows mined, probes included. Matches of two corpus sentences may also come as counts of their scores. The
    curve is about pairs of two corpus sentences only.
    """
    evidence = gather(np.asarray(src_rows), np.asarray(tgt_rows), np.asarray(scores, np.float64), n_src, n_tgt, probes)
    if corpus is not None:
        counted = ScoreCounts(corpus.values.astype(np.float64), corpus.counts)
        evidence = evidence._replace(corpus=ScoreCounts.united([evidence.corpus, counted]))
    bins = histograms(evidence)
    draws = draw(bins, _DRAWS, random_seed)
    low, high = np.quantile(draws.true_pairs, [0.05, 0.95])
    return Calibration(
        curve=_curve(evidence.corpus, bins, draws, random_seed),
        true_pairs=float(np.median(draws.true_pairs)),
        interval=CredibleInterval(float(low), float(high)),
        domain_distance=bins.unlikeness,
        top=_top_band(evidence, bins, draws),
        found=int((evidence.full >= bins.edges[0]).sum()),
        full=bins.sizes.full,
    )


def by_rank(calibration: Calibration, scores: ScoreCounts) -> Calibration:
    """The same estimates for another score of the corpus pairs, one that ranks them at least as well.

    Of as many pairs at least as many are right then, so a precision is not promised in vain; how much better the other
    score is remains unknown.
    """
    curve = calibration.curve
    some = curve.kept <= scores.total
    within = CalibratedCurve._make(column[some] for column in curve)
    return calibration._replace(curve=within._replace(threshold=scores.at(within.kept - 1).astype(np.float64)))


def _curve(corpus: ScoreCounts, bins: Bins, draws: Draws, random_seed: int) -> CalibratedCurve:
    """Estimates at a thousand ranks, and lines between them: all ranks times all draws would not fit in memory."""
    if not corpus.total:
        nothing = np.empty(0)
        return CalibratedCurve(nothing, nothing, nothing, nothing, nothing, np.empty(0, np.int64))
    ranks = evenly_spread(corpus.total, _RANKS)
    share = draws.share(bins)
    in_bins = np.bincount(bins.place(corpus.values.astype(np.float64)), corpus.counts, share.shape[1])
    above = in_bins[::-1].cumsum()[::-1] - in_bins
    counts = np.clip((ranks + 1.0)[:, None] - above, 0, in_bins)  # the best fill the highest bins first
    kept = (ranks + 1.0)[:, None]
    true = counts @ share.T  # (ranks, draws)
    # The share is a chance, and how many of the pairs are right a draw by it.
    luck = np.sqrt(counts @ (share * (1 - share)).T) * np.random.default_rng(random_seed).standard_normal(len(share))
    precision = np.median(true, axis=1) / kept[:, 0]
    low, high = np.quantile(np.clip((true + luck) / kept, 0, 1), [0.05, 0.95], axis=1)
    recall = np.median(np.minimum(true / np.maximum(draws.true_pairs, 1e-9), 1.0), axis=1)
    last = corpus.kept - 1
    columns = (np.interp(last, ranks, column) for column in (precision, low, high, recall))
    estimated, lowest, highest, found = columns
    return CalibratedCurve(
        corpus.values.astype(np.float64),
        estimated,
        np.minimum(lowest, estimated),
        np.maximum(highest, estimated),
        found,
        last + 1,
    )


def _top_band(evidence: Evidence, bins: Bins, draws: Draws) -> TopBand:
    """Compare corpus and probe matches in the best scores; what no true pair explains may be copies or boilerplate."""
    if len(evidence.full) < 10:
        return TopBand(np.inf, 0, 0.0, False)
    threshold = float(np.quantile(evidence.full, _TOP))
    above, below = (evidence.full >= threshold).sum(), (evidence.full < threshold).sum()
    rest = evidence.corpus.values < threshold
    shares = np.median(draws.share(bins), axis=0)[bins.place(evidence.corpus.values[rest].astype(np.float64))]
    true = float((shares * evidence.corpus.counts[rest]).sum())
    kept, expected = evidence.corpus.at_least(threshold), float(true * above / below)
    # Probes of another domain may score lower than true pairs of the corpora, and a few of them are few.
    most = _EXCESS * np.exp(bins.unlikeness) * true * (above + 2 * np.sqrt(above)) / below
    return TopBand(threshold, kept, expected, bool(kept > most + _LEAST_EXCESS))
