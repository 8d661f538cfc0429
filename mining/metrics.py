"""Scores for mined pairs, as pure functions on arrays.

An empty denominator gives 0 (no pair found has precision 0, no gold has recall 0), as scikit-learn's `zero_division=0`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mining.score_counts import ScoreCounts


class PairMetrics(NamedTuple):
    """How a set of found pairs compares with a set of gold pairs."""

    precision: float
    recall: float
    f1: float
    found: int
    gold: int
    correct: int


class Curve(NamedTuple):
    """One point per distinct score, highest first: what is kept when `score >= threshold`."""

    threshold: NDArray[np.floating]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    kept: NDArray[np.int64]


class BestPoint(NamedTuple):
    """The point of a curve with the highest F1; on equal F1 the one that keeps fewer pairs."""

    threshold: float
    precision: float
    recall: float
    f1: float
    kept: int


def pair_metrics(found: ArrayLike, gold: ArrayLike) -> PairMetrics:
    """Precision, recall and F1 of two *sets* of (source id, target id) rows; repeated rows count once."""
    found_keys, gold_keys = (np.unique(keys) for keys in _pair_keys(found, gold))
    correct = int(np.isin(found_keys, gold_keys, assume_unique=True).sum())
    precision, recall = _divide(correct, len(found_keys)), _divide(correct, len(gold_keys))
    f1 = _divide(2 * correct, len(found_keys) + len(gold_keys))
    return PairMetrics(float(precision), float(recall), float(f1), len(found_keys), len(gold_keys), correct)


def is_gold(found: ArrayLike, gold: ArrayLike) -> NDArray[np.bool_]:
    """For each found row, whether it is among the gold rows."""
    found_keys, gold_keys = _pair_keys(found, gold)
    return np.isin(found_keys, gold_keys)


def pair_curve(found: ArrayLike, scores: ArrayLike, gold: ArrayLike) -> Curve:
    """The curve of scored pairs against gold; a pair found twice counts once, with its higher score."""
    found_keys, gold_keys = _pair_keys(found, gold)
    values = np.asarray(scores)
    if len(values) != len(found_keys):
        raise ValueError(f"{len(found_keys)} pairs but {len(values)} scores")
    order = np.argsort(-values, kind="stable")
    _, first = np.unique(found_keys[order], return_index=True)
    rows = order[first]
    return label_curve(values[rows], np.isin(found_keys[rows], gold_keys), len(np.unique(gold_keys)))


def label_curve(scores: ArrayLike, correct: ArrayLike, gold: int) -> Curve:
    """The curve of scores with a true/false label each; `gold` counts all true pairs, found or not."""
    values, labels = _labelled(scores, correct)
    return counted_curve(ScoreCounts.of(values), ScoreCounts.of(values[labels]), gold)


def counted_curve(scores: ScoreCounts, correct: ScoreCounts, gold: int) -> Curve:
    """The curve of counted scores, and of those among them that are correct: equal ones are kept or dropped together.

    `gold` counts all true pairs, found or not.
    """
    kept = scores.kept
    hits = np.append(0, correct.kept)[np.searchsorted(-correct.values, -scores.values, side="right")]
    return Curve(scores.values, _divide(hits, kept), _divide(hits, gold), _divide(2 * hits, kept + gold), kept)


def best_point(curve: Curve) -> BestPoint:
    """The best F1 of a curve; an empty curve gives an infinite threshold, which keeps nothing.

    The threshold is halfway to the next lower score: it keeps exactly the same pairs here, and is
    the better guess for other data. It is exact in the dtype of the scores.
    """
    if not len(curve.threshold):
        return BestPoint(float("inf"), 0.0, 0.0, 0.0, 0)
    best = int(np.argmax(curve.f1))
    threshold = curve.threshold[best]
    if best + 1 < len(curve.threshold):
        below = curve.threshold[best + 1]
        middle = below + (threshold - below) / 2
        threshold = middle if below < middle <= threshold else threshold
    return BestPoint(
        float(threshold),
        float(curve.precision[best]),
        float(curve.recall[best]),
        float(curve.f1[best]),
        int(curve.kept[best]),
    )


def _pair_keys(found: ArrayLike, gold: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One integer per pair, equal exactly when the pairs are equal."""
    found_columns, gold_columns = _columns(found), _columns(gold)
    count = len(found_columns[0])
    keys = np.zeros(count + len(gold_columns[0]), dtype=np.int64)
    for ours, theirs in zip(found_columns, gold_columns, strict=True):
        codes, width = _joint_codes(ours, theirs)
        keys = keys * width + codes
    return keys[:count], keys[count:]


def _joint_codes(first: NDArray, second: NDArray) -> tuple[NDArray[np.int64], int]:
    if len(first) and len(second) and (first.dtype.kind in "iu") != (second.dtype.kind in "iu"):
        raise ValueError(f"ids of different kinds cannot match: {first.dtype} and {second.dtype}")
    # uint64 with int64 would become float64 and merge ids above 2**53; non-negative ids fit uint64 exactly.
    if {first.dtype.kind, second.dtype.kind} == {"i", "u"}:
        first, second = (_unsigned(column) for column in (first, second))
    filled = [column for column in (first, second) if len(column)]
    values, codes = np.unique(np.concatenate(filled or [np.empty(0, np.int64)]), return_inverse=True)
    return codes.astype(np.int64), max(1, len(values))


def _unsigned(column: NDArray) -> NDArray[np.uint64]:
    if column.dtype.kind == "i" and len(column) and column.min() < 0:
        raise ValueError("negative ids cannot be compared with unsigned ids")
    return column.astype(np.uint64)


def _columns(pairs: ArrayLike) -> tuple[NDArray, NDArray]:
    """Source and target ids of a two-column or a two-field structured array."""
    array = np.asarray(pairs)
    if array.dtype.names is not None and len(array.dtype.names) == 2:
        return array[array.dtype.names[0]], array[array.dtype.names[1]]
    if array.size == 0:
        return array.reshape(-1), array.reshape(-1)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iuUSOT":
        raise ValueError(f"pairs must be two columns of integer or string ids, not {array.dtype} {array.shape}")
    return array[:, 0], array[:, 1]


def _labelled(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray, NDArray[np.bool_]]:
    values, flags = np.asarray(scores), np.asarray(labels, dtype=bool)
    if values.shape != flags.shape or values.ndim != 1:
        raise ValueError(f"scores {values.shape} and labels {flags.shape} must be two vectors of one length")
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if np.isnan(values).any():
        raise ValueError("scores contain NaN")
    return values, flags


def _divide(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0)
