"""Bootstrap intervals and the paired test."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import f1_score

from pipelines.evaluation.samples import Average, TestItems, compare, f1_percent, interval_95, mean_percent

DRAW = np.random.default_rng(1)
HITS = DRAW.random((400, 1)) < 0.7


def test_interval_agrees_with_scipy() -> None:
    ours = interval_95(TestItems(HITS, mean_percent).replicas())
    theirs = scipy.stats.bootstrap((100.0 * HITS[:, 0],), np.mean, method="percentile", rng=0).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.7)
    assert ours.high == pytest.approx(theirs.high, abs=0.7)


def test_one_seed_draws_the_same_items_for_every_encoder() -> None:
    rows = TestItems(np.arange(50), lambda items: float(items.sum()))
    shifted = TestItems(np.arange(50) + 7, lambda items: float(items.sum()))
    np.testing.assert_array_equal(shifted.replicas() - rows.replicas(), 350.0)
    pair = Average((rows, rows))
    assert not np.array_equal(pair.samples[0].replicas((0, 0)), pair.samples[1].replicas((0, 1)))


def test_average_is_the_mean_of_test_sets_whatever_their_size() -> None:
    few, many = TestItems(np.ones((2, 1)), mean_percent), TestItems(np.zeros((50, 1)), mean_percent)
    assert Average((few, many)).value() == 50.0
    assert Average((few, many)).sizes() == (2, 50)
    np.testing.assert_array_equal(Average((few, many)).replicas(count=5), 50.0)


def test_an_encoder_does_not_differ_from_itself() -> None:
    drawn = TestItems(HITS, mean_percent).replicas()
    found = compare(drawn, drawn, 0.0)
    assert found.p_value == 1.0 and found.interval == (0.0, 0.0)


@pytest.mark.parametrize(("gain", "significant"), [(0.15, True), (0.0, False)])
def test_paired_test_sees_a_gain_and_no_ghosts(gain: float, significant: bool) -> None:
    better = HITS | (DRAW.random(HITS.shape) < gain)
    worse = HITS.copy()
    # as many items lost as won: another system, not a better one
    swapped = DRAW.permutation(len(HITS))[:40]
    better[swapped[:20]], worse[swapped[20:]] = HITS[swapped[:20]], HITS[swapped[20:]]
    found = compare(TestItems(worse, mean_percent).replicas(), TestItems(better, mean_percent).replicas(), 0.0)
    assert (found.p_value < 0.05) == significant


def test_p_value_is_near_the_exact_sign_test() -> None:
    first = np.zeros((100, 1), bool)
    second = first.copy()
    first[:6], second[6:20] = True, True  # 6 items only the first has right, 14 only the second
    found = compare(TestItems(first, mean_percent).replicas(), TestItems(second, mean_percent).replicas(), 8.0)
    assert found.p_value == pytest.approx(scipy.stats.binomtest(6, 20).pvalue, abs=0.06)


@pytest.mark.parametrize("won", [1, 2, 4])
def test_a_handful_of_sentences_is_no_significant_gain(won: int) -> None:
    first, second = np.zeros((1000, 1), bool), np.zeros((1000, 1), bool)
    second[:won] = True
    drawn, gained = (TestItems(items, mean_percent).replicas() for items in (first, second))
    # The difference of a draw is 0 with probability exp(-won); the exact sign test is stricter still.
    assert compare(drawn, gained, 0.1 * won).p_value == pytest.approx(min(1, 2 * np.exp(-won)), abs=0.04)
    assert compare(drawn, gained, 0.1 * won).p_value == compare(gained, drawn, -0.1 * won).p_value


def test_f1_equals_scikit_learn() -> None:
    found, gold = DRAW.random(200) < 0.3, DRAW.random(200) < 0.4
    items = np.stack([found & gold, found, gold], axis=1).astype(int)
    assert f1_percent(items) == pytest.approx(100 * f1_score(gold, found))
    assert f1_percent(np.zeros((4, 3), int)) == 0.0
