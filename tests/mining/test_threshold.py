"""Thresholds: fixed, best n, tuned on gold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining import threshold
from mining.errors import InputError


def test_fixed_keeps_equal_scores_and_never_nan() -> None:
    assert threshold.fixed(np.array([1.0, 0.9, np.nan, 1.1]), 1.0).tolist() == [True, False, False, True]
    # a user's 1.06 keeps a float32 score that prints as 1.06
    assert threshold.fixed(np.array([1.06], np.float32), 1.06).all()
    assert threshold.fixed([], 1.0).tolist() == []


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), max_size=12), st.integers(0, 14))
def test_top_n_equals_sorting(scores: list[float], n: int) -> None:
    best = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:n]
    assert np.flatnonzero(threshold.top_n(np.array(scores), n)).tolist() == sorted(best)


def test_top_n_leaves_nan_and_refuses_negative() -> None:
    assert threshold.top_n(np.array([np.nan, 0.1]), 2).tolist() == [False, True]
    with pytest.raises(InputError, match="0 or more, not -1"):
        threshold.top_n(np.array([0.1]), -1)


def test_tune_on_gold() -> None:
    pairs = np.array([["a", "A"], ["b", "B"], ["c", "X"], ["d", "D"], ["e", "Y"]])
    scores = np.array([1.5, 1.4, 1.3, 1.3, 1.0], dtype=np.float32)
    gold = np.array([["a", "A"], ["b", "B"], ["z", "Z"]])
    tuned = threshold.tune_on_gold(pairs, scores, gold)
    assert tuned.kept == 2
    assert (tuned.precision, tuned.recall, tuned.f1) == pytest.approx((1.0, 2 / 3, 0.8))
    assert 1.3 < tuned.threshold < 1.4
    assert tuned.curve.kept.tolist() == [1, 2, 4, 5]
    assert threshold.fixed(scores, tuned.threshold).sum() == 2


def test_tune_on_nothing() -> None:
    with pytest.raises(InputError, match="empty"):
        threshold.tune_on_gold([[1, 1]], [1.0], [])
    none = threshold.tune_on_gold(np.empty((0, 2), np.int64), [], [[1, 1]])
    assert (none.kept, none.f1, none.threshold) == (0, 0.0, float("inf"))
