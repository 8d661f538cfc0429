"""Correlation, purity, skewness and the like, as pure functions on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


class Hubness(NamedTuple):
    """How unevenly neighbours are spread: shares are of all sentences, or of all places among the k nearest."""

    skewness: float
    hubs: float
    places_of_hubs: float
    antihubs: float


class Purity(NamedTuple):
    """Share of items in the majority class of their cluster, over items and as a mean over clusters."""

    overall: float
    mean_of_clusters: float


def cosines(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Cosine of row n with row n; 0 where either is all zeros."""
    dot = np.einsum("ij,ij->i", first, second, dtype=np.float64)
    lengths = np.linalg.norm(first.astype(np.float64), axis=1) * np.linalg.norm(second.astype(np.float64), axis=1)
    return np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0)


def pearson(x: NDArray, y: NDArray) -> float:
    """Pearson's r; NaN where either side is constant, as in scipy."""
    a, b = x - x.mean(), y - y.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else float("nan")


def spearman(x: NDArray, y: NDArray) -> float:
    """Spearman's rho: Pearson's r of ranks, equal values sharing their mean rank."""
    return pearson(rankdata(x), rankdata(y))


def purity(labels: NDArray, clusters: NDArray) -> Purity:
    """Purity of a clustering; empty clusters do not count."""
    _, rows = np.unique(clusters, return_inverse=True)
    _, columns = np.unique(labels, return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1), np.int64)
    np.add.at(table, (rows, columns), 1)
    majority = table.max(axis=1)
    return Purity(float(majority.sum() / len(labels)), float((majority / table.sum(axis=1)).mean()))


def skewness(values: NDArray) -> float:
    """The third standardised moment, 0 where all values are equal."""
    centred = values - values.mean()
    deviation = np.sqrt((centred**2).mean())
    return float((centred**3).mean() / deviation**3) if deviation > 0 else 0.0


def k_occurrence(neighbours: NDArray, size: int) -> NDArray[np.int64]:
    """How often each of `size` sentences is among the neighbours (queries, k); absent ones are negative."""
    return np.bincount(neighbours[neighbours >= 0], minlength=size)


def hubness(occurrence: NDArray, k: int, factor: float) -> Hubness:
    """Of k-occurrences N_k (Radovanovic et al. 2010): a hub has more than `factor` times k, an antihub none."""
    hubs = occurrence > factor * k
    total = max(1, int(occurrence.sum()))
    return Hubness(
        skewness(occurrence), float(hubs.mean()), float(occurrence[hubs].sum() / total), float((occurrence == 0).mean())
    )


class AccuracyPoint(NamedTuple):
    threshold: float
    accuracy: float


def best_accuracy(scores: NDArray, labels: NDArray) -> AccuracyPoint:
    """The threshold of the best accuracy of `score >= threshold`, halfway between scores; the highest on ties."""
    order = np.argsort(-scores, kind="stable")
    values, flags = scores[order], labels[order].astype(np.int64)
    # Keeping the first n is right for the true ones among them and the false ones after them.
    right = (
        np.concatenate([[0], np.cumsum(flags)])
        + (len(flags) - flags.sum())
        - np.concatenate([[0], np.cumsum(1 - flags)])
    )
    allowed = np.concatenate([[True], values[1:] != values[:-1], [True]])
    kept = int(np.argmax(np.where(allowed, right, -1)))
    edges = np.concatenate([[np.inf], values, [-np.inf]])
    low, high = edges[kept + 1], edges[kept]
    threshold = high if np.isneginf(low) else low + 1.0 if np.isinf(high) else (low + high) / 2
    return AccuracyPoint(float(threshold), float(right[kept] / len(flags)))


def average_precision(scores: NDArray, labels: NDArray) -> float:
    """Sum of precision times the gain in recall over distinct scores, best first; 0 without true items."""
    from sklearn.metrics import average_precision_score  # takes a second to import

    return float(average_precision_score(labels, scores)) if np.any(labels) else 0.0
