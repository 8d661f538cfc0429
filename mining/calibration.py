"""A threshold without gold: plant known pairs in the corpora, and see how they score and match.

A planted sentence always has its counterpart, a corpus sentence mostly has not, so the precision among probes says
nothing about the corpus. Therefore some seed pairs are planted in full and of others one side only:

- pairs planted in full tell r(s), how many true pairs are found with score s;
- one-sided probes tell phi(s), how many sentences without a counterpart are matched, falsely, with score s.

The corpora have T true pairs (unknown) and n sentences, and the matches found among them at score s number

    N(s) = T r(s) + (n - T + c T) phi(s),

where c is how much rarer a paired sentence is mismatched than an unpaired one. Above its bulk phi is log-concave and
smooth, so it is fitted as exp(quadratic) on one-sided probes and corpus together: where true pairs are rare the
corpus itself shows its false matches by the thousand, and the probes need not be of its domain; where true pairs
abound the one-sided probes decide. EM splits N(s) into true and false, as in Efron's local false discovery rates
(2004); the share of true matches is made monotone in the score, and its mean above a threshold is the precision
there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mining.errors import InputError, UnreachablePrecision
from mining.fitting import falling_quadratic, rising
from mining.probes import MIN_PROBES, Evidence, ProbeRows, Sizes, gather

SEED_DISTANCE = 0.15
_BINS = 40
_ROUNDS = 300
_BOOTSTRAPS = 100
# Seed pairs count half in the shape of r, as their domain may differ from that of the corpora.
_SEED_WEIGHT = 0.5
_COUNTS = ("corpus", "one_sided", "mismatched")


class Interval(NamedTuple):
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
    """What to expect at one threshold; the interval of the precision holds 90% of the bootstrap."""

    threshold: float
    precision: float
    interval: Interval
    recall: float
    kept: int


class Calibration(NamedTuple):
    """The estimated curve and the estimated number of true pairs in the corpora.

    `seed_distance` (Kolmogorov's, 0 to 1) says how unlike the seed pairs score to the true pairs of the corpora. Above
    `SEED_DISTANCE` the seed is of another kind, and the estimates can be 10 points off: take a seed of the same domain.
    Where most sentences have a counterpart it cannot tell.
    """

    curve: CalibratedCurve
    true_pairs: float
    interval: Interval
    seed_distance: float

    def threshold_for(self, target_precision: float) -> CalibratedPoint:
        """The lowest threshold whose estimated precision reaches the target."""
        if not 0 < target_precision <= 1:
            raise InputError(f"the target precision must be above 0 and at most 1, not {target_precision}")
        good = np.flatnonzero(self.curve.precision >= target_precision)
        if not len(good):
            best = np.floor(1e4 * self.curve.precision.max(initial=0.0)) / 1e4  # never rounded up to the target
            raise UnreachablePrecision(
                f"no threshold reaches the precision {target_precision:g}: the estimate is at most {best:.4f}; "
                "lower the target, or use a better encoder or cleaner corpora"
            )
        return self.at(float(self.curve.threshold[good[-1]]))

    def at(self, threshold: float) -> CalibratedPoint:
        """The estimates when everything that scores at least `threshold` is kept."""
        point = int(np.count_nonzero(self.curve.threshold >= threshold)) - 1
        if point < 0:
            return CalibratedPoint(threshold, 1.0, Interval(0.0, 1.0), 0.0, 0)
        _, precision, low, high, recall, kept = (column[point] for column in self.curve)
        return CalibratedPoint(threshold, float(precision), Interval(float(low), float(high)), float(recall), int(kept))


def calibrate(
    src_rows: ArrayLike,
    tgt_rows: ArrayLike,
    scores: ArrayLike,
    *,
    n_src: int,
    n_tgt: int,
    probes: ProbeRows,
    seed: int = 0,
) -> Calibration:
    """Estimate precision, recall and yield at every threshold from matches in corpora with probes in them.

    The matches are those of the corpora mined together with the probes, with no threshold applied; `n_src` and `n_tgt`
    count all rows mined, probes included. The curve is about pairs of two corpus sentences only.
    """
    evidence = gather(np.asarray(src_rows), np.asarray(tgt_rows), np.asarray(scores, np.float64), n_src, n_tgt, probes)
    ordered = np.sort(evidence.corpus)[::-1]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, np.int64)
    bins = _histogram(evidence)
    estimate = _estimate(bins)
    precision, found = _above(ordered, estimate.share, bins.centres)
    low, high, interval = _bootstrap(bins, ordered, seed)
    recall = np.minimum(found / max(estimate.true_pairs, 1e-9), 1.0)
    # Where the evidence is thin the resamplings can all lie to one side of the estimate, which belongs to the interval.
    low, high = np.minimum(low, precision), np.maximum(high, precision)
    curve = CalibratedCurve(ordered[last], precision[last], low[last], high[last], recall[last], last + 1)
    return Calibration(curve, estimate.true_pairs, interval, estimate.seed_distance)


class _Bins(NamedTuple):
    """The evidence as histograms over the same bins, lowest first; the first `bulk` bins are below the fitted tail."""

    centres: NDArray[np.float64]
    bulk: int
    corpus: NDArray[np.float64]
    full: NDArray[np.float64]
    one_sided: NDArray[np.float64]
    mismatched: NDArray[np.float64]
    sizes: Sizes


def _histogram(evidence: Evidence) -> _Bins:
    """Equal bins; the tail starts where three quarters of the false matches of one-sided probes lie below."""
    false = evidence.one_sided if len(evidence.one_sided) >= MIN_PROBES else evidence.corpus
    start = float(np.quantile(false, 0.75)) if len(false) else 0.0
    everything = np.concatenate([evidence.corpus, evidence.full, evidence.one_sided])
    # A few extreme scores must not stretch the bins; they all land in the last one.
    top = np.quantile(evidence.full, 0.98) if len(evidence.full) else everything.max(initial=start)
    width = max(float(top) - start, 1e-6) / _BINS
    lowest = everything.min(initial=start)
    bulk = min(int(np.ceil((start - lowest) / width)), 4 * _BINS)
    edges = start + width * np.arange(-bulk, _BINS + 1)

    def count(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0].astype(np.float64)

    return _Bins(
        centres=(edges[1:] + edges[:-1]) / 2,
        bulk=bulk,
        corpus=count(evidence.corpus),
        full=count(evidence.full),
        one_sided=count(evidence.one_sided),
        mismatched=count(evidence.mismatched),
        sizes=evidence.sizes,
    )


class _Estimate(NamedTuple):
    share: NDArray[np.float64]  # of true matches in each bin, rising with the score
    true_pairs: float
    seed_distance: float


def _estimate(bins: _Bins) -> _Estimate:
    """Split the corpus matches of each bin into true and false by EM."""
    tail = slice(bins.bulk, None)
    corpus, found, lone = bins.corpus[tail], bins.full[tail], bins.one_sided[tail]
    rarity = _rarity(bins)
    pairs = 0.1 * min(bins.sizes.src, bins.sizes.tgt)
    seeds = _SEED_WEIGHT * found + 0.5 / len(found)
    true_rate = seeds / (_SEED_WEIGHT * bins.sizes.full + 0.5)
    false_rate = np.full(
        len(corpus), (lone.sum() + 1) / (bins.sizes.source_only + bins.sizes.target_only) / len(corpus)
    )
    for _ in range(_ROUNDS):
        sources, targets = (size - pairs + rarity * pairs for size in (bins.sizes.src, bins.sizes.tgt))
        true, false = pairs * true_rate, sources * false_rate
        share = true / np.maximum(true + false, 1e-12)
        matched = share * corpus
        true_rate = (seeds + matched) / (_SEED_WEIGHT * bins.sizes.full + pairs + 0.5)
        before, pairs = pairs, min(matched.sum() / max(true_rate.sum(), 1e-9), bins.sizes.src, bins.sizes.tgt)
        # A false match needs one sentence of each side, so its rate per target is its rate per source times n/m.
        exposure = sources + bins.sizes.source_only + bins.sizes.target_only * sources / max(targets, 1.0)
        false_rate = falling_quadratic(corpus - matched + lone, exposure, false_rate)
        if abs(pairs - before) < 1e-4 * (1 + pairs):
            break
    true = np.concatenate([pairs * bins.full[: bins.bulk] / bins.sizes.full, matched])
    # Empty bins weigh next to nothing, so that pooling them with others adds up what is true and what is there.
    weights = bins.corpus + 1e-9
    return _Estimate(np.clip(rising(true / weights, weights), 0.0, 1.0), float(pairs), _distance(found, matched))


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Kolmogorov's distance of two histograms."""
    if not first.sum() or not second.sum():
        return 0.0
    return float(np.abs(np.cumsum(first) / first.sum() - np.cumsum(second) / second.sum()).max())


def _rarity(bins: _Bins) -> float:
    """How often a paired sentence is mismatched, against a one-sided probe, in the tail."""
    lone = (bins.one_sided[bins.bulk :].sum() + 1) / (bins.sizes.source_only + bins.sizes.target_only)
    return float(min(1.0, bins.mismatched[bins.bulk :].sum() / (2 * bins.sizes.full) / lone))


def _above(
    ordered: NDArray[np.float64], share: NDArray[np.float64], centres: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expected precision and number of true pairs among the first 1, 2, ... of the scores."""
    found = np.cumsum(np.interp(ordered, centres, share))
    return found / np.arange(1, len(ordered) + 1), found


def _bootstrap(
    bins: _Bins, ordered: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], Interval]:
    """The middle 90% of the precision at every rank, and of the number of true pairs."""
    rng = np.random.default_rng(seed)
    # Millions of ranks times all resamplings would not fit in memory; between a thousand ranks it is a line.
    ranks = np.unique(np.linspace(0, max(len(ordered) - 1, 0), 1000).astype(np.int64))
    precisions, pairs = [], []
    for _ in range(_BOOTSTRAPS):
        estimate = _estimate(_resample(bins, rng))
        precisions.append(_above(ordered, estimate.share, bins.centres)[0][ranks] if len(ordered) else np.zeros(1))
        pairs.append(estimate.true_pairs)
    low, high = np.quantile(precisions, [0.05, 0.95], axis=0)
    everywhere = np.arange(len(ordered))
    interval = Interval(*(float(bound) for bound in np.quantile(pairs, [0.05, 0.95])))
    return np.interp(everywhere, ranks, low), np.interp(everywhere, ranks, high), interval


def _resample(bins: _Bins, rng: np.random.Generator) -> _Bins:
    counts = {
        name: rng.poisson(getattr(bins, name)).astype(np.float64) for name in ("corpus", "one_sided", "mismatched")
    }
    chances = np.append(bins.full, max(bins.sizes.full - bins.full.sum(), 0.0)) / max(bins.sizes.full, bins.full.sum())
    found = rng.multinomial(bins.sizes.full, chances)[:-1].astype(np.float64)
    return bins._replace(full=found, **counts)
