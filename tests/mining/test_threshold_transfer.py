"""Thresholds for corpora of another size: parts of corpora, smooth thresholds, their change."""

from __future__ import annotations

import numpy as np
import pytest

from mining.threshold_transfer import SizedThreshold, change_per_doubling, deal, log_size, smooth_threshold


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_every_row_is_dealt_once_and_gold_pairs_stay_whole(parts: int) -> None:
    gold = np.array([[3, 9], [0, 4], [7, 1], [2, 2]])
    dealt = deal(gold, 10, 12, parts, np.random.default_rng(0))
    assert len(dealt) == parts
    assert sorted(np.concatenate([part.source for part in dealt]).tolist()) == list(range(10))
    assert sorted(np.concatenate([part.target for part in dealt]).tolist()) == list(range(12))
    found = [(int(part.source[s]), int(part.target[t])) for part in dealt for s, t in part.gold]
    assert sorted(found) == sorted(map(tuple, gold.tolist()))


def test_a_source_with_two_translations_in_different_parts_loses_neither_row() -> None:
    gold = np.array([[0, 0], [1, 0]])  # the target can only go with one of them
    dealt = deal(gold, 2, 1, 2, np.random.default_rng(1))
    assert sum(len(part.gold) for part in dealt) in (1, 2)
    assert sum(len(part.source) for part in dealt) == 2


def test_a_smooth_threshold_lies_where_right_and_wrong_pairs_part() -> None:
    draw = np.random.default_rng(0)
    right = draw.normal(2.0, 0.5, 400)
    wrong = draw.normal(0.0, 0.5, 400)
    scores = np.concatenate([right, wrong])
    is_right = np.arange(800) < 400
    threshold = smooth_threshold(scores, is_right, 400, np.random.default_rng(0))
    assert threshold == pytest.approx(1.0, abs=0.15)
    kept = scores >= threshold
    assert 2 * (kept & is_right).sum() / (kept.sum() + 400) > 0.97


def test_one_outlier_moves_a_smooth_threshold_less_than_the_best_one() -> None:
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    right = np.array([True, True, True, False, True])  # the best threshold is 1 or 3: equal but for one pair
    smooth = smooth_threshold(scores, right, 4, np.random.default_rng(0))
    assert 1.0 < smooth < 3.0


def test_change_per_doubling_is_that_of_all_languages_with_levels_of_their_own() -> None:
    corpora = [[SizedThreshold(size, level - 0.1 * size, 1.0) for size in (10, 11, 12)] for level in (3.0, 7.0)]
    assert change_per_doubling(corpora) == pytest.approx(-0.1)
    assert change_per_doubling([]) == 0.0
    assert change_per_doubling([[SizedThreshold(10, 2.0, 1.0)]]) == 0.0  # one size tells of no change


def test_log_size_is_the_mean_of_both_sides() -> None:
    assert log_size(8, 32) == pytest.approx(4.0)
