"""A threshold that moves with the scores of pairs that are no translations."""

from __future__ import annotations

import numpy as np
import pytest

from mining.threshold_transfer import NoiseLevel, transferred


def mined(noise: tuple[float, float], right: int, wrong: int, seed: int) -> np.ndarray:
    """Scores of translations, six spreads above those of others."""
    draw = np.random.default_rng(seed)
    middle, spread = noise
    return np.concatenate([draw.normal(middle + 6 * spread, spread, right), draw.normal(middle, spread, wrong)])


def test_a_threshold_moves_with_the_noise() -> None:
    tuned_on, scores = mined((1.0, 0.02), 500, 10_000, 1), mined((0.9, 0.04), 500, 10_000, 2)
    assert transferred(1.06, tuned_on, scores) == pytest.approx(1.02, abs=0.005)


@pytest.mark.parametrize("right", [0, 50, 1500])
def test_the_share_of_translations_moves_it_little(right: int) -> None:
    tuned_on, scores = mined((1.0, 0.02), 500, 10_000, 1), mined((1.0, 0.02), right, 10_000, 2)
    assert transferred(1.06, tuned_on, scores) == pytest.approx(1.06, abs=0.01)


def test_on_the_same_scores_it_stays() -> None:
    scores = mined((1.0, 0.02), 100, 1000, 1).astype(np.float32)
    assert transferred(1.06, scores, scores) == pytest.approx(1.06)
    assert transferred(float("inf"), scores, scores) == float("inf")  # which keeps nothing


@pytest.mark.parametrize("few", [np.empty(0, np.float32), np.ones(3, np.float32)])
def test_scores_that_tell_nothing_leave_it(few: np.ndarray) -> None:
    scores = mined((1.0, 0.02), 100, 1000, 1)
    assert NoiseLevel.of(few).spread == 0
    assert transferred(1.06, scores, few) == transferred(1.06, few, scores) == 1.06
