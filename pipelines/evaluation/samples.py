"""How sure a score is: bootstrap over the items of a test set, the same draws for every encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

REPLICAS = 1000
Statistic = Callable[[NDArray], float]


class ConfidenceInterval(NamedTuple):
    low: float
    high: float


class Difference(NamedTuple):
    """Second minus first score, with its 95% interval and the two-sided p-value of the paired bootstrap."""

    value: float
    interval: ConfidenceInterval
    p_value: float


@dataclass(frozen=True)
class TestItems:
    """The items of a test set (rows) and how a score is made of any multiset of them."""

    items: NDArray  # (items, columns)
    statistic: Statistic

    def value(self) -> float:
        return self.statistic(self.items)

    def replicas(self, seed: tuple[int, ...] = (0,), count: int = REPLICAS) -> NDArray[np.float64]:
        """The score of `count` draws with replacement; the draws depend on the seed and the number of items only."""
        generator, size = np.random.default_rng(seed), len(self.items)
        return np.array([self.statistic(self.items[generator.integers(0, size, size)]) for _ in range(count)])

    def sizes(self) -> tuple[int, ...]:
        return (len(self.items),)


@dataclass(frozen=True)
class Average:
    """The mean of the scores of several test sets, each drawn by itself."""

    samples: tuple[TestItems | Average, ...]

    def value(self) -> float:
        return float(np.mean([sample.value() for sample in self.samples]))

    def replicas(self, seed: tuple[int, ...] = (0,), count: int = REPLICAS) -> NDArray[np.float64]:
        return np.mean([sample.replicas((*seed, i), count) for i, sample in enumerate(self.samples)], axis=0)

    def sizes(self) -> tuple[int, ...]:
        return tuple(size for sample in self.samples for size in sample.sizes())


def interval_95(replicas: NDArray[np.float64]) -> ConfidenceInterval:
    """The percentile interval; draws without a score (a constant column, say) are left out."""
    known = replicas[np.isfinite(replicas)]
    if not len(known):
        return ConfidenceInterval(float("nan"), float("nan"))
    low, high = np.percentile(known, [2.5, 97.5])
    return ConfidenceInterval(float(low), float(high))


def compare(first: NDArray[np.float64], second: NDArray[np.float64], value: float) -> Difference:
    """Paired bootstrap (Koehn 2004) of replicas that were drawn with one seed; `value` is the observed difference.

    p is twice the share of draws in which the difference is zero or of the other sign. Counting a tie as half a draw
    would find two encoders different that differ in four sentences of a thousand. The observed sample is one more draw.
    """
    differences = (second - first)[np.isfinite(second - first)]
    against = min((differences <= 0).sum(), (differences >= 0).sum())
    p_value = 2 * (against + 1) / (len(differences) + 1)
    return Difference(value, interval_95(differences), float(min(1.0, p_value)))


def mean_percent(items: NDArray) -> float:
    """100 times the mean of hits, averaged over columns (directions)."""
    return 100 * float(items.mean())


def f1_percent(items: NDArray) -> float:
    """100 F1 of columns (correct, found, gold) that count pairs."""
    correct, found, gold = items.sum(axis=0)
    return 200 * float(correct) / float(found + gold) if found + gold else 0.0


def precision_percent(items: NDArray) -> float:
    """100 times the precision of columns (correct, found, ..) that count pairs."""
    correct, found = items[:, :2].sum(axis=0)
    return 100 * float(correct) / float(found) if found else 0.0
