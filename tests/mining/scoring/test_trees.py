from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from mining.scoring.trees import parse_trees, predict
from mining.threads import thread_pool


def fitted(missing: float, leaves: int = 12, rounds: int = 15) -> tuple[lightgbm.Booster, np.ndarray]:
    rng = np.random.default_rng(0)
    features = np.round(rng.normal(size=(3001, 9)), 1).astype(np.float32)  # values that repeat, and zeros
    labels = features[:, 2] * features[:, 4] + features[:, 1] > 0.3
    features[rng.random(features.shape) < missing] = np.nan
    parameters = {"objective": "binary", "num_leaves": leaves, "min_data_in_leaf": 5, "verbosity": -1}
    return lightgbm.train(parameters, lightgbm.Dataset(features, labels), rounds), features


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_are_those_of_lightgbm_bit_for_bit(missing: float, threads: int) -> None:
    booster, features = fitted(missing)
    features[::7, 4] = np.nan  # also where training met none
    with thread_pool(threads) as pool:
        scores = predict(parse_trees(booster.model_to_string()), features, pool)
        assert len(predict(parse_trees(booster.model_to_string()), features[:0], pool)) == 0
    np.testing.assert_array_equal(scores, booster.predict(features, raw_score=True))


def test_a_tree_that_is_one_leaf() -> None:
    features = np.zeros((100, 2), np.float32)
    booster = lightgbm.train(
        {"objective": "binary", "verbosity": -1}, lightgbm.Dataset(features, np.arange(100) < 30), 1
    )
    with thread_pool(1) as pool:
        scores = predict(parse_trees(booster.model_to_string()), features, pool)
    np.testing.assert_array_equal(scores, booster.predict(features, raw_score=True))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("decision_type=", "decision_type=1 "),
        ("left_child=1 ", "left_child=0 "),
        ("left_child=1 ", "left_child=400 "),
        ("threshold=", "threshold=x "),
        ("\nTree=", "\nBush="),
    ],
)
def test_what_is_no_tree_of_numbers_is_refused(old: str, new: str) -> None:
    text = fitted(0.0, rounds=1)[0].model_to_string()
    assert old in text
    with pytest.raises(ValueError):
        parse_trees(text.replace(old, new))
