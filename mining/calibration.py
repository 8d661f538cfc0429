"""A threshold without gold: plant known pairs in the corpora, and see how they score and match.

A planted sentence always has its counterpart, a corpus sentence mostly has not, so the precision among plants says
nothing about the corpus. Therefore some seed pairs are planted whole and of others one side only:

- pairs planted whole tell r(s), how many true pairs are found with score s;
- lone plants tell phi(s), how many sentences without a counterpart are matched, falsely, with score s.

The corpora have T true pairs (unknown) and n sentences, and the matches found among them at score s number

    N(s) = T r(s) + (n - T + c T) phi(s),

where c is how much rarer a paired sentence is mismatched than a lone one. Above its bulk phi is log-concave and smooth,
so it is fitted as exp(quadratic) on lone plants and corpus together: where true pairs are rare the corpus itself shows
its false matches by the thousand, and the plants need not be of its domain; where true pairs abound the lone plants
decide. EM splits N(s) into true and false, as in Efron's local false discovery rates (2004); the share of true matches
is made monotone in the score, and its mean above a threshold is the precision there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mining.errors import InputError

_BINS = 40
_ROUNDS = 300
_BOOTSTRAPS = 100
_MIN_PLANTS = 20
# Seed pairs count half in the shape of r, as their domain may differ from that of the corpora.
_SEED_WEIGHT = 0.5


class PlantPlan(NamedTuple):
    """Which seed pairs are planted whole, and of which only the source or only the target sentence."""

    full: NDArray[np.int64]
    source_only: NDArray[np.int64]
    target_only: NDArray[np.int64]


class PlantRows(NamedTuple):
    """Where the plants are among the rows that were mined."""

    full: NDArray[np.int64]  # (f, 2): source row, target row
    source_only: NDArray[np.int64]
    target_only: NDArray[np.int64]


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
    """The estimated curve and the estimated number of true pairs in the corpora."""

    curve: CalibratedCurve
    true_pairs: float
    interval: Interval

    def threshold_for(self, target_precision: float) -> CalibratedPoint:
        """The lowest threshold whose estimated precision reaches the target."""
        if not 0 < target_precision <= 1:
            raise InputError(f"the target precision must be above 0 and at most 1, not {target_precision}")
        good = np.flatnonzero(self.curve.precision >= target_precision)
        if not len(good):
            best = self.curve.precision.max(initial=0.0)
            raise InputError(
                f"no threshold reaches the precision {target_precision:g}: the estimate is at most {best:.3f}; "
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


def plan_plants(pairs: int, seed: int = 0) -> PlantPlan:
    """Half of the seed pairs whole, a quarter with the source only, a quarter with the target only, at random."""
    if pairs < 4 * _MIN_PLANTS:
        raise InputError(
            f"{pairs} seed pairs are too few to calibrate a threshold; {4 * _MIN_PLANTS} or more are needed"
        )
    order = np.random.default_rng(seed).permutation(pairs)
    full, source_only, target_only = np.split(order, [pairs // 2, pairs // 2 + pairs // 4])
    return PlantPlan(np.sort(full), np.sort(source_only), np.sort(target_only))


def calibrate(
    src_rows: ArrayLike,
    tgt_rows: ArrayLike,
    scores: ArrayLike,
    *,
    n_src: int,
    n_tgt: int,
    plants: PlantRows,
    seed: int = 0,
) -> Calibration:
    """Estimate precision, recall and yield at every threshold from matches in corpora with plants in them.

    The matches are those of the corpora mined together with the plants, with no threshold applied; `n_src` and `n_tgt`
    count all rows mined, plants included. The curve is about pairs of two corpus sentences only.
    """
    evidence = _gather(np.asarray(src_rows), np.asarray(tgt_rows), np.asarray(scores, np.float64), n_src, n_tgt, plants)
    ordered = np.sort(evidence.corpus)[::-1]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, np.int64)
    bins = _histogram(evidence)
    true_share, true_pairs = _estimate(bins)
    precision, found = _above(ordered, true_share, bins.centres)
    rng = np.random.default_rng(seed)
    resampled = [_estimate(_resample(bins, rng)) for _ in range(_BOOTSTRAPS)]
    spread = np.stack([_above(ordered, share, bins.centres)[0] for share, _ in resampled])
    low, high = np.quantile(spread, [0.05, 0.95], axis=0) if len(ordered) else (precision, precision)
    pairs_low, pairs_high = np.quantile([count for _, count in resampled], [0.05, 0.95])
    recall = np.minimum(found / max(true_pairs, 1e-9), 1.0) if true_pairs else np.zeros_like(found)
    curve = CalibratedCurve(ordered[last], precision[last], low[last], high[last], recall[last], last + 1)
    return Calibration(curve, true_pairs, Interval(float(pairs_low), float(pairs_high)))


class _Sizes(NamedTuple):
    """How many sentences could have made a match: those of the corpora, and the plants."""

    src: int
    tgt: int
    full: int
    source_only: int
    target_only: int


class _Evidence(NamedTuple):
    """The scores of each kind of match."""

    corpus: NDArray[np.float64]
    found: NDArray[np.float64]  # pairs planted whole, matched with each other
    lone: NDArray[np.float64]  # lone plants matched with a corpus sentence
    crossed: NDArray[np.float64]  # sentences of whole pairs matched with a corpus sentence
    sizes: _Sizes


class _Bins(NamedTuple):
    """The evidence as histograms over the same bins, lowest first; the first `bulk` bins are below the fitted tail."""

    centres: NDArray[np.float64]
    bulk: int
    corpus: NDArray[np.float64]
    found: NDArray[np.float64]
    lone: NDArray[np.float64]
    crossed: NDArray[np.float64]
    sizes: _Sizes


def _gather(
    src: NDArray, tgt: NDArray, scores: NDArray[np.float64], n_src: int, n_tgt: int, plants: PlantRows
) -> _Evidence:
    full = np.asarray(plants.full, np.int64).reshape(-1, 2)
    lone_src, lone_tgt = np.asarray(plants.source_only, np.int64), np.asarray(plants.target_only, np.int64)
    if len(full) < _MIN_PLANTS or len(lone_src) + len(lone_tgt) < _MIN_PLANTS:
        raise InputError(f"a calibration needs {_MIN_PLANTS} pairs planted whole and as many lone sentences, or more")
    src_full, tgt_full = (_places(size, rows) for size, rows in ((n_src, full[:, 0]), (n_tgt, full[:, 1])))
    src_lone, tgt_lone = _places(n_src, lone_src) >= 0, _places(n_tgt, lone_tgt) >= 0
    src_corpus, tgt_corpus = ~src_lone & (src_full < 0), ~tgt_lone & (tgt_full < 0)
    own = (src_full[src] >= 0) & (src_full[src] == tgt_full[tgt])
    # A plant that meets another plant says nothing about corpus sentences, least of all when the domains differ.
    one_corpus = src_corpus[src] != tgt_corpus[tgt]
    return _Evidence(
        corpus=scores[src_corpus[src] & tgt_corpus[tgt]],
        found=scores[own],
        lone=scores[one_corpus & (src_lone[src] | tgt_lone[tgt])],
        crossed=scores[one_corpus & ((src_full[src] >= 0) | (tgt_full[tgt] >= 0))],
        sizes=_Sizes(int(src_corpus.sum()), int(tgt_corpus.sum()), len(full), len(lone_src), len(lone_tgt)),
    )


def _places(size: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) and (rows.min() < 0 or rows.max() >= size):
        raise ValueError(f"a planted row is outside of the {size} rows mined")
    places = np.full(size, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return places


def _histogram(evidence: _Evidence) -> _Bins:
    """Equal bins; the tail starts where three quarters of the false matches of lone plants lie below."""
    false = evidence.lone if len(evidence.lone) >= _MIN_PLANTS else evidence.corpus
    start = float(np.quantile(false, 0.75)) if len(false) else 0.0
    everything = np.concatenate([evidence.corpus, evidence.found, evidence.lone])
    # A few extreme scores must not stretch the bins; they all land in the last one.
    top = np.quantile(evidence.found, 0.98) if len(evidence.found) else everything.max(initial=start)
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
        found=count(evidence.found),
        lone=count(evidence.lone),
        crossed=count(evidence.crossed),
        sizes=evidence.sizes,
    )


def _estimate(bins: _Bins) -> tuple[NDArray[np.float64], float]:
    """The share of true matches in each bin, rising with the score, and the number of true pairs."""
    tail = slice(bins.bulk, None)
    corpus, found, lone = bins.corpus[tail], bins.found[tail], bins.lone[tail]
    basis = _quadratic(len(corpus))
    rarity = _rarity(bins)
    pairs = 0.1 * min(bins.sizes.src, bins.sizes.tgt)
    seeds = _SEED_WEIGHT * found + 0.5 / len(found)
    true_rate = seeds / (_SEED_WEIGHT * bins.sizes.full + 0.5)
    coefficients = np.zeros(3)
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
        coefficients = _poisson_fit(basis, corpus - matched + lone, exposure, coefficients)
        false_rate = np.exp(basis @ coefficients)
        if abs(pairs - before) < 1e-4 * (1 + pairs):
            break
    false = (bins.sizes.src - pairs + rarity * pairs) * false_rate
    true = np.concatenate([pairs * bins.found[: bins.bulk] / bins.sizes.full, corpus - false])
    # Empty bins weigh next to nothing, so that pooling them with others adds up what is true and what is there.
    weights = bins.corpus + 1e-9
    rising = _isotonic(true / weights, weights)
    return np.clip(rising, 0.0, 1.0), float(pairs)


def _rarity(bins: _Bins) -> float:
    """How often a paired sentence is mismatched, against a lone one, in the tail."""
    lone = (bins.lone[bins.bulk :].sum() + 1) / (bins.sizes.source_only + bins.sizes.target_only)
    return float(min(1.0, bins.crossed[bins.bulk :].sum() / (2 * bins.sizes.full) / lone))


def _quadratic(size: int) -> NDArray[np.float64]:
    position = (np.arange(size) + 0.5) / size
    return np.stack([np.ones(size), position, position**2], axis=1)


def _poisson_fit(
    basis: NDArray[np.float64], counts: NDArray[np.float64], exposure: float, start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Poisson regression by Newton steps; the quadratic term must not be positive, so that the tail keeps falling."""
    if not start.any():
        start = np.array([np.log((counts.sum() + 1) / exposure / len(counts)), 0.0, 0.0])
    fitted = _newton(basis, counts, exposure, start)
    if fitted[2] > 0:
        fitted = np.append(_newton(basis[:, :2], counts, exposure, start[:2]), 0.0)
    return fitted


def _newton(
    basis: NDArray[np.float64], counts: NDArray[np.float64], exposure: float, coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    ridge = 1e-6 * np.eye(basis.shape[1])
    for _ in range(50):
        mean = exposure * np.exp(np.clip(basis @ coefficients, -700.0, 50.0))
        step = np.linalg.solve(basis.T @ (basis * mean[:, None]) + ridge, basis.T @ (counts - mean))
        largest = np.abs(basis @ step).max()
        coefficients = coefficients + step / max(1.0, largest)  # no bin's rate changes by more than e in a step
        if largest < 1e-6:
            break
    return coefficients


def _isotonic(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest rising sequence, by pooling adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, mass, size = float(value), float(weight), 1
        while blocks and blocks[-1][0] >= mean:
            other, other_mass, other_size = blocks.pop()
            mean = (mean * mass + other * other_mass) / (mass + other_mass)
            mass, size = mass + other_mass, size + other_size
        blocks.append((mean, mass, size))
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])


def _above(
    ordered: NDArray[np.float64], share: NDArray[np.float64], centres: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expected precision and number of true pairs among the first 1, 2, ... of the scores."""
    found = np.cumsum(np.interp(ordered, centres, share))
    return found / np.arange(1, len(ordered) + 1), found


def _resample(bins: _Bins, rng: np.random.Generator) -> _Bins:
    counts = {name: rng.poisson(getattr(bins, name)).astype(np.float64) for name in ("corpus", "lone", "crossed")}
    chances = np.append(bins.found, max(bins.sizes.full - bins.found.sum(), 0.0)) / max(
        bins.sizes.full, bins.found.sum()
    )
    found = rng.multinomial(bins.sizes.full, chances)[:-1].astype(np.float64)
    return bins._replace(found=found, **counts)
