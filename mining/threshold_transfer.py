"""A threshold for corpora of another size than those whose gold it was tuned on.

The larger two corpora are, the nearer are the neighbours that a pair is measured against, so that margins of the same
pair fall. By how much is seen on parts of the tuned corpora: the best thresholds of halves and quarters of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS = 100  # of the bootstrap


class SizedThreshold(NamedTuple):
    """The best threshold of corpora of some size."""

    size: float  # log2 of the rows of a side
    threshold: float
    weight: float  # how much gold it rests on


class CorpusPart(NamedTuple):
    """Some rows of both sides, and the gold pairs that are whole in them, by their place in the part."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    gold: NDArray[np.int64]  # (pairs, 2)


def log_size(source: int, target: int) -> float:
    """The size of two corpora, by the mean of their doublings."""
    return float(np.log2(source) + np.log2(target)) / 2


def deal(gold: NDArray[np.int64], source: int, target: int, parts: int, rng: np.random.Generator) -> list[CorpusPart]:
    """Both sides dealt out at random to so many parts; the two ends of a gold pair go to the same."""
    of_source, of_target = rng.integers(parts, size=source), rng.integers(parts, size=target)
    of_target[gold[:, 1]] = of_source[gold[:, 0]]
    dealt = []
    for part in range(parts):
        rows, columns = np.flatnonzero(of_source == part), np.flatnonzero(of_target == part)
        whole = gold[(of_source[gold[:, 0]] == part) & (of_target[gold[:, 1]] == part)]
        places = np.searchsorted(rows, whole[:, 0]), np.searchsorted(columns, whole[:, 1])
        dealt.append(CorpusPart(rows, columns, np.stack(places, axis=1)))
    return dealt


def smooth_threshold(
    scores: NDArray[np.floating], right: NDArray[np.bool_], gold: int, rng: np.random.Generator
) -> float:
    """The mean of the best thresholds of bootstrap samples: a single best one is at the mercy of a few pairs.

    `right` says which scores are of gold pairs, `gold` how many of these there are, found or not.
    """
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], right[order]
    missed = gold - int(right.sum())
    best = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        times = rng.poisson(1.0, len(scores))
        hits, kept = np.cumsum(times * right), np.cumsum(times)
        all_gold = hits[-1] + rng.poisson(missed)
        best[draw] = scores[np.argmax(2 * hits / np.maximum(kept + all_gold, 1))]
    return float(best.mean())


def change_per_doubling(corpora: Sequence[Sequence[SizedThreshold]]) -> float:
    """By how much the best threshold changes where corpora are twice as large, over all pairs of languages together.

    A least-squares slope; each pair of languages has a level of its own.
    """
    products = squares = 0.0
    for points in corpora:
        sizes, thresholds, weights = np.array(points).T
        away = sizes - np.average(sizes, weights=weights)
        products += float((weights * away * thresholds).sum())
        squares += float((weights * away * away).sum())
    return products / squares if squares else 0.0
