"""Metrics against scikit-learn and literal loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve

from mining import metrics

PAIR_LISTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)
SCORED_LABELS = st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.5]), st.booleans()), max_size=25)


def as_pairs(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@given(PAIR_LISTS, PAIR_LISTS)
def test_pair_metrics_equal_python_sets(found: list, gold: list) -> None:
    correct = len(set(found) & set(gold))
    result = metrics.pair_metrics(as_pairs(found), as_pairs(gold))
    precision = correct / len(set(found)) if found else 0.0
    recall = correct / len(set(gold)) if gold else 0.0
    assert (result.found, result.gold, result.correct) == (len(set(found)), len(set(gold)), correct)
    assert result.precision == pytest.approx(precision)
    assert result.recall == pytest.approx(recall)
    assert result.f1 == pytest.approx(2 * precision * recall / (precision + recall) if correct else 0.0)


@pytest.mark.parametrize(
    ("found", "gold", "correct"),
    [
        (np.array([["de-1", "en-1"], ["de-2", "en-9"]]), np.array([["de-1", "en-1"]]), 1),
        (np.array([["a", "b"]], dtype=object), [("a", "b"), ("b", "a")], 1),
        (np.array([(1, 2), (3, 4)], dtype=[("s", "u8"), ("t", "u8")]), np.array([[3, 4]]), 1),
        # float64 cannot tell these two ids apart
        (np.array([[2**53 + 1, 1]], dtype=np.uint64), np.array([[2**53, 1]], dtype=np.int64), 0),
        (np.array([[2**64 - 1, 1]], dtype=np.uint64), np.array([[2**64 - 1, 1]], dtype=np.uint64), 1),
        (np.empty((0, 2), np.int64), [("a", "b")], 0),
        ([], [], 0),
    ],
)
def test_any_kind_of_id(found: object, gold: object, correct: int) -> None:
    assert metrics.pair_metrics(found, gold).correct == correct


@pytest.mark.parametrize("bad", [np.zeros((3, 3), np.int64), np.zeros((3, 2)), np.array([1, 2])])
def test_not_pairs(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="two columns"):
        metrics.pair_metrics(bad, np.array([[1, 2]]))


def test_ids_that_can_never_match_are_refused() -> None:
    with pytest.raises(ValueError, match="different kinds"):
        metrics.is_gold(np.array([[1, 2]]), np.array([["1", "2"]]))
    with pytest.raises(ValueError, match="negative"):
        metrics.is_gold(np.array([[1, 2]], np.uint64), np.array([[-1, 2]]))


@given(SCORED_LABELS, st.integers(0, 5))
def test_curve_equals_a_loop_over_thresholds(scored: list, missed: int) -> None:
    scores, labels = np.array([s for s, _ in scored]), np.array([c for _, c in scored], dtype=bool)
    gold = int(labels.sum()) + missed
    curve = metrics.label_curve(scores, labels, gold)
    assert list(curve.threshold) == sorted(set(scores), reverse=True)
    for point, threshold in enumerate(curve.threshold):
        kept = [correct for score, correct in scored if score >= threshold]
        assert curve.kept[point] == len(kept)
        assert curve.precision[point] == pytest.approx(sum(kept) / len(kept))
        assert curve.recall[point] == pytest.approx(sum(kept) / gold if gold else 0.0)
        assert curve.f1[point] == pytest.approx(2 * sum(kept) / (len(kept) + gold))


def test_curve_equals_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=500).round(1), rng.random(500) < 0.3
    curve = metrics.label_curve(scores, labels, int(labels.sum()))
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    np.testing.assert_allclose(curve.threshold[::-1], thresholds)
    np.testing.assert_allclose(curve.precision[::-1], precision[:-1])
    np.testing.assert_allclose(curve.recall[::-1], recall[:-1])


@given(SCORED_LABELS, st.integers(0, 3), st.sampled_from([np.float32, np.float64]))
def test_best_point_reproduces_its_kept_set(scored: list, missed: int, dtype: type) -> None:
    scores, labels = np.array([s for s, _ in scored], dtype), np.array([c for _, c in scored], dtype=bool)
    curve = metrics.label_curve(scores, labels, int(labels.sum()) + missed)
    best = metrics.best_point(curve)
    assert np.count_nonzero(scores >= best.threshold) == best.kept
    assert best.f1 == (curve.f1.max() if len(scored) else 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_best_point_between_neighbouring_floats(dtype: type) -> None:
    low = dtype(1.1)
    scores = np.array([np.nextafter(low, dtype(2)), low])
    best = metrics.best_point(metrics.label_curve(scores, [True, False], 1))
    assert (scores >= best.threshold).tolist() == [True, False]


def test_pair_found_twice_counts_once_with_its_higher_score() -> None:
    curve = metrics.pair_curve([[1, 1], [2, 2], [1, 1]], [0.2, 0.5, 0.9], [[1, 1]])
    assert curve.threshold.tolist() == [0.9, 0.5]
    assert curve.kept.tolist() == [1, 2]
    assert metrics.best_point(curve).threshold == pytest.approx(0.7)


def test_bad_scores() -> None:
    with pytest.raises(ValueError, match="NaN"):
        metrics.label_curve([np.nan], [True], 1)
    with pytest.raises(ValueError, match="2 pairs but 1 scores"):
        metrics.pair_curve([[1, 1], [2, 2]], [1.0], [[1, 1]])
