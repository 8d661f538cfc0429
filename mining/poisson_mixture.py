"""How matches with a score divide into true and false: a Poisson model of corpus and probe matches.

Over bins of the score, above the bulk of the false matches, the counts are Poisson with these means:

    corpus matches               T r + (n - T + c T) phi
    full probes found            F r e^d
    one-sided probes matched     L phi e^g

r is the chance that a true pair is found with this score, phi that a sentence without a counterpart is matched with it,
and both are smooth; T is the number of true pairs, c how much rarer a paired sentence is mismatched than an unpaired
one. d and g are how unlike the probes are to the corpora: unknown, smooth, and a priori smaller for probes
similar to the corpora. T is integrated over a grid; at each of its points the rest has a mode (Fisher scoring) and a
curvature, so that draws of the posterior are cheap and show what the data leave open.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.probes import Evidence, Sizes
from mining.score_counts import ScoreCounts

Floats = NDArray[np.float64]

BINS = 40
_KNOTS = 6
_LOGITS = (-11.0, 6.0)  # of the share of true pairs
_COARSE, _FINE = 24, 32
_ROUNDS = 25
_START = 0.6  # this share of the false matches of one-sided probes lies below the modelled scores
_LOWEST = 0.01  # where no one-sided probe is matched: this share of the matches of the corpora does
_EFFECTIVE = 3000.0  # the model is no truer than this many matches can show; more of them weigh no more
_LOGIT_SHARE = (-1.5, 2.0)  # mean and deviation, a priori, of the logit of the share of true pairs
_SAME, _OTHER = 0.3, 1.0  # how far log rates of probes and corpora may differ: always, and by unit of `unlikeness`
_SLACK = 0.15  # how far log phi may stray from a falling quadratic


class Bins(NamedTuple):
    """The evidence above the bulk of the false matches, as counts in equal bins."""

    edges: Floats
    corpus: Floats
    full: Floats
    one_sided: Floats
    mismatched: float
    unlikeness: float
    below: tuple[int, int]  # full probes found, and corpus matches, with scores below the bins
    sizes: Sizes

    def place(self, scores: Floats) -> NDArray[np.int64]:
        """The column of `Draws.share` for each score: 0 below the bins, the last one above them."""
        return np.minimum(np.searchsorted(self.edges, scores, side="right"), BINS)


class Draws(NamedTuple):
    """Draws of the posterior."""

    true_pairs: Floats  # (draws,)
    found: Floats  # (draws, bins): r of the corpora
    false: Floats  # (draws, bins): expected false matches

    def share(self, bins: Bins) -> Floats:
        """(draws, 1 + bins): of true pairs among the matches below the bins and in them; it never falls."""
        true = self.true_pairs[:, None] * self.found
        inside = np.maximum.accumulate(true / (true + self.false), axis=1)
        found, matches = bins.below
        below = self.true_pairs * found / (bins.sizes.full * max(matches, 1))
        return np.concatenate([np.minimum(below[:, None], inside[:, :1]), inside], axis=1)


def histograms(evidence: Evidence) -> Bins:
    """Count the evidence in bins from the bulk of the false matches to the best of the full probes."""
    start = _bulk(evidence)
    # A few extreme scores must not stretch the bins; they are outside, where the best bin stands for them.
    tops = [scores.quantile(0.98) for scores in (ScoreCounts.of(evidence.full), evidence.corpus) if scores.total]
    edges = np.linspace(start, max([*tops, start + 1e-6]), BINS + 1)

    def count(scores: Floats) -> Floats:
        return np.histogram(scores, edges)[0].astype(np.float64)

    return Bins(
        edges=edges,
        corpus=evidence.corpus.histogram(edges).astype(np.float64),
        full=count(evidence.full),
        one_sided=count(evidence.one_sided),
        mismatched=float((evidence.mismatched >= start).sum()),
        unlikeness=unlikeness(evidence),
        below=(int((evidence.full < start).sum()), evidence.corpus.total - evidence.corpus.at_least(start)),
        sizes=evidence.sizes,
    )


def _bulk(evidence: Evidence) -> float:
    """Where the modelled scores begin: above most false matches; text that is all parallel has next to none."""
    if len(evidence.one_sided):
        return float(ScoreCounts.of(evidence.one_sided).quantile(_START))
    return float(evidence.corpus.quantile(_LOWEST)) if evidence.corpus.total else 0.0


def unlikeness(evidence: Evidence) -> float:
    """The log of how much oftener than at random a false match of a probe is with another probe, 0 to 1.5.

    Probes of the corpora's own domain meet other probes as often as chance has it; those of another keep together.
    """
    sizes = evidence.sizes
    odds = np.sqrt((sizes.full + sizes.source_only) * (sizes.full + sizes.target_only) / (sizes.src * sizes.tgt))
    by_chance = odds * (len(evidence.one_sided) + len(evidence.mismatched))
    return float(np.clip(np.log((2 * evidence.among_probes + 2) / (by_chance + 2)), 0.0, 1.5))


def draw(bins: Bins, count: int, random_seed: int = 0) -> Draws:
    """Draws of the posterior of the mixture."""
    model, smaller = _Model(bins), min(bins.sizes.src, bins.sizes.tgt)
    coarse = np.linspace(*_LOGITS, _COARSE)
    likely = coarse[(logs := model.log_posterior(coarse)[0]) > logs.max() - 8]
    step = coarse[1] - coarse[0]
    logits = np.linspace(likely.min() - step, likely.max() + step, _FINE)
    logs, modes, precisions = model.log_posterior(logits)
    weights = np.exp(logs - logs.max())
    rng = np.random.default_rng(random_seed)
    chosen = np.sort(rng.choice(_FINE, count, p=weights / weights.sum()))
    # A draw from N(mode, precision^-1) solves L' x = noise for the Cholesky factor L of the precision.
    factors = np.linalg.cholesky(precisions).transpose(0, 2, 1)
    noise = np.linalg.solve(factors[chosen], rng.standard_normal((count, modes.shape[1], 1)))[:, :, 0]
    between = (logits[1] - logits[0]) * rng.uniform(-0.5, 0.5, count)
    true_pairs = smaller * _share(logits[chosen] + between)
    found, false = model.rates(modes[chosen] + noise, true_pairs)
    return Draws(true_pairs, found, false)


class _Model:
    """Log rates that are linear in the parameters, with Gaussian priors."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        place = 2 * (np.arange(BINS) + 0.5) / BINS - 1
        hats = np.maximum(1 - np.abs(place[:, None] - np.linspace(-1, 1, _KNOTS)) * (_KNOTS - 1) / 2, 0)
        line = np.stack([np.ones(BINS), place, 1.5 * place**2 - 0.5], axis=1)
        # parameters: r (knots), d (3), phi as a quadratic (3) and its slack (knots), g (2)
        ends = np.cumsum([0, _KNOTS, 3, 3, _KNOTS, 2])
        parts = [slice(start, end) for start, end in pairwise(ends)]
        self.size, self._curvature = int(ends[-1]), parts[2].start + 2
        self.found, self.false = np.zeros((BINS, self.size)), np.zeros((BINS, self.size))
        self.found[:, parts[0]] = hats
        self.false[:, parts[2]], self.false[:, parts[3]] = line, hats
        self.full, self.one_sided = self.found.copy(), self.false.copy()
        self.full[:, parts[1]], self.one_sided[:, parts[4]] = line, line[:, :2]
        unlike = _SAME + _OTHER * bins.unlikeness
        missed = 1 - bins.full.sum() / bins.sizes.full
        level = unlike * max(missed, 0.2)  # where nearly all full probes are found, so are nearly all true pairs
        deviations = np.array(
            [5.0] * _KNOTS + [level, unlike, unlike] + [8.0, 6.0, 6.0] + [_SLACK] * _KNOTS + [unlike] * 2
        )
        self.prior = np.diag(deviations**-2)
        bends = np.diff(np.eye(_KNOTS), 2, axis=0)
        self.prior[parts[0], parts[0]] += bends.T @ bends / 1.5**2
        self.mean = np.zeros(self.size)
        self.mean[parts[0]] = np.log((bins.full.sum() + 1) / (bins.sizes.full + 2) / BINS)
        one_sided = bins.sizes.source_only + bins.sizes.target_only
        self.false_rate = (bins.one_sided.sum() + 1) / (one_sided + 2)
        self.mean[parts[2].start] = np.log(self.false_rate / BINS)
        self.rarity = min(1.0, (bins.mismatched + 0.5) / (2 * bins.sizes.full + 1) / self.false_rate)
        self.weight = min(1.0, _EFFECTIVE / max(bins.corpus.sum(), 1.0))

    def unpaired(self, size: int, pairs: Floats) -> Floats:
        """How many sentences of a side can be matched falsely."""
        return size - pairs + self.rarity * pairs

    def rates(self, theta: Floats, pairs: Floats) -> tuple[Floats, Floats]:
        """r, and the expected false matches of the corpora, (..., bins)."""
        sources = self.unpaired(self.bins.sizes.src, pairs)[:, None]
        return _exp(theta @ self.found.T), sources * _exp(theta @ self.false.T)

    def log_posterior(self, logits: Floats) -> tuple[Floats, Floats, Floats]:
        """For each logit of the share of true pairs: its log posterior, the mode of the rest, and the curvature."""
        pairs = _share(logits) * min(self.bins.sizes.src, self.bins.sizes.tgt)
        prior = -0.5 * ((logits - _LOGIT_SHARE[0]) / _LOGIT_SHARE[1]) ** 2
        theta = np.tile(self.mean, (len(pairs), 1))
        # What the probes say comes first, then little by little the corpora: from elsewhere one ends in a lesser mode.
        for part in (0.01, 0.1, 1.0):
            theta, value, curvature = self._climb(theta, pairs, part * self.weight)
        return prior + value - 0.5 * np.linalg.slogdet(curvature)[1], theta, curvature

    def _climb(self, theta: Floats, pairs: Floats, weight: float) -> tuple[Floats, Floats, Floats]:
        """The mode next to `theta` (Levenberg-Marquardt), the log posterior and the curvature there."""
        value, gradient, curvature = self._posterior(theta, pairs, weight)
        damping = np.full(len(pairs), 1e-3)
        for _ in range(_ROUNDS):
            scale = np.einsum("gii->gi", curvature)[:, :, None] * np.eye(self.size)
            step = np.linalg.solve(curvature + damping[:, None, None] * scale, gradient[:, :, None])[:, :, 0]
            tried = theta + np.clip(step, -2.0, 2.0)
            found = self._posterior(tried, pairs, weight)
            better = found[0] >= value
            gain = np.where(better, found[0] - value, np.inf)
            theta = np.where(better[:, None], tried, theta)
            value = np.where(better, found[0], value)
            gradient = np.where(better[:, None], found[1], gradient)
            curvature = np.where(better[:, None, None], found[2], curvature)
            damping = np.clip(np.where(better, damping / 5, damping * 8), 1e-6, 1e6)
            if np.where(np.isfinite(gain), gain, 0.0).max() < 1e-4 and (better | (damping > 1e3)).all():
                break
        return theta, value, curvature

    def _posterior(self, theta: Floats, pairs: Floats, weight: float) -> tuple[Floats, Floats, Floats]:
        """Log posterior (grid,), its gradient (grid, size) and the expected curvature (grid, size, size)."""
        sizes = self.bins.sizes
        sources, targets = (self.unpaired(size, pairs) for size in (sizes.src, sizes.tgt))
        # A false match needs one sentence of each side, so its rate per target is its rate per source times n/m.
        exposure = sizes.source_only + sizes.target_only * sources / np.maximum(targets, 1.0)
        found, false = self.rates(theta, pairs)
        true = pairs[:, None] * found
        full, one_sided = sizes.full * _exp(theta @ self.full.T), exposure[:, None] * _exp(theta @ self.one_sided.T)
        slopes = true[:, :, None] * self.found + false[:, :, None] * self.false
        observed = [
            (weight * self.bins.corpus, weight * (true + false), weight * slopes),
            (self.bins.full, full, full[:, :, None] * self.full),
            (self.bins.one_sided, one_sided, one_sided[:, :, None] * self.one_sided),
        ]
        away = theta - self.mean
        bowl = np.broadcast_to(self.prior, (len(theta), self.size, self.size)).copy()
        bowl[:, self._curvature, self._curvature] += np.where(theta[:, self._curvature] > 0, 400.0, 0.0)
        pull = np.einsum("gij,gj->gi", bowl, away)
        value, gradient, curvature = -0.5 * (pull * away).sum(1), -pull, bowl
        for counts, means, slope in observed:
            value = value + (counts * np.log(means) - means).sum(1)
            gradient = gradient + np.einsum("gb,gbi->gi", counts / means - 1, slope)
            curvature = curvature + np.einsum("gbi,gbj->gij", slope / means[:, :, None], slope)
        return self._at_most_all(found, value, gradient, curvature)

    def _at_most_all(
        self, found: Floats, value: Floats, gradient: Floats, curvature: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """No more than all true pairs can be found: a wall where r adds up to 1."""
        over = np.maximum(found.sum(1) - 1, 0.0)
        slope = (found @ self.found) * (over > 0)[:, None]
        stiff = 30.0**2
        return (
            value - 0.5 * stiff * over**2,
            gradient - stiff * over[:, None] * slope,
            curvature + stiff * slope[:, :, None] * slope[:, None, :],
        )


def _share(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-logits))


def _exp(log_rates: Floats) -> Floats:
    return np.exp(np.clip(log_rates, -30.0, 10.0))
