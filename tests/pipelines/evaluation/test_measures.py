"""Measures against scipy, scikit-learn and literal loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation import measures

COLUMNS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=30)
SCORED = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1, max_size=25)
CLUSTERED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40)


@given(COLUMNS)
def test_correlations_equal_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(measures.pearson(x, y)) and np.isnan(measures.spearman(x, y))
        return
    assert measures.pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-12)
    assert measures.spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)


@given(CLUSTERED)
def test_purity_equals_the_contingency_table(pairs: list[tuple[int, int]]) -> None:
    labels, clusters = np.array(pairs).T
    table = sklearn.metrics.cluster.contingency_matrix(labels, clusters)
    found = measures.purity(labels, clusters)
    assert found.overall == pytest.approx(table.max(axis=0).sum() / table.sum())
    assert found.mean_of_clusters == pytest.approx((table.max(axis=0) / table.sum(axis=0)).mean())


@given(st.lists(st.integers(0, 20), min_size=2, max_size=40))
def test_skewness_equals_scipy(values: list[int]) -> None:
    counts = np.array(values)
    expected = 0.0 if len(set(values)) == 1 else scipy.stats.skew(counts)
    assert measures.skewness(counts) == pytest.approx(expected, abs=1e-9)


def test_hubness_by_hand() -> None:
    neighbours = np.array([[0, 1], [0, 2], [0, 1], [0, -1], [0, -1]])
    occurrence = measures.k_occurrence(neighbours, 5)
    assert occurrence.tolist() == [5, 2, 1, 0, 0]
    found = measures.hubness(occurrence, k=2, factor=2.0)  # a hub is in more than 4 neighbourhoods
    assert found.hubs == pytest.approx(1 / 5)
    assert found.places_of_hubs == pytest.approx(5 / 8)
    assert found.antihubs == pytest.approx(2 / 5)
    assert found.skewness == pytest.approx(scipy.stats.skew([5, 2, 1, 0, 0]))


@given(SCORED)
def test_average_precision_equals_scikit_learn(scored: list[tuple[float, bool]]) -> None:
    scores, labels = np.array([s for s, _ in scored]), np.array([label for _, label in scored])
    expected = sklearn.metrics.average_precision_score(labels, scores) if labels.any() else 0.0
    assert measures.average_precision(scores, labels) == pytest.approx(expected)


@given(SCORED)
def test_best_accuracy_equals_trying_every_threshold(scored: list[tuple[float, bool]]) -> None:
    scores, labels = np.array([s for s, _ in scored]), np.array([label for _, label in scored])
    found = measures.best_accuracy(scores, labels)
    tried = [np.mean((scores >= threshold) == labels) for threshold in (*scores, 2.0, -1.0)]
    assert found.accuracy == pytest.approx(max(tried))
    assert np.mean((scores >= found.threshold) == labels) == pytest.approx(found.accuracy)


def test_cosines() -> None:
    first = np.array([[1, 0], [1, 1], [0, 0]], np.float32)
    second = np.array([[2, 0], [0, 3], [1, 0]], np.float32)
    np.testing.assert_allclose(measures.cosines(first, second), [1, 0.5**0.5, 0])
