from __future__ import annotations

import numpy as np
import pytest

from mining.scoring.classifier import Use
from mining.scoring.fitting import TaskExamples, fit_logistic, fit_scaling


def _task(labels: np.ndarray, source: np.ndarray, target: np.ndarray) -> TaskExamples:
    usable, kinds = np.ones(len(labels), bool), (~labels).astype(np.int64)
    return TaskExamples(Use.mining, np.empty((len(labels), 0)), labels, usable, source, target, kinds)


def test_the_scaling_is_the_same_whatever_the_share_of_right_pairs() -> None:
    rng = np.random.default_rng(2)
    tasks, scores = [], []
    for share in (0.1, 0.7):
        labels = rng.random(20_000) < share
        raw = rng.normal(size=20_000) + 2.0 * labels  # whose log likelihood ratio is 2 raw - 2
        rows = np.arange(20_000)
        tasks.append(
            TaskExamples(
                Use.mining, np.empty((20_000, 0)), labels, np.ones(20_000, bool), rows, rows, (~labels).astype(np.int64)
            )
        )
        scores.append(raw)
    found = fit_scaling(tasks, scores)
    assert found.slope == pytest.approx(2, abs=0.1) and found.intercept == pytest.approx(-2, abs=0.1)


def test_translations_that_nobody_labelled_do_not_flatten_the_scaling() -> None:
    rng = np.random.default_rng(4)
    right = rng.random(20_000) < 0.3
    raw = 4 * (rng.normal(size=20_000) + 4.0 * right) - 8  # its own log likelihood ratio
    rows = np.arange(20_000)
    labels = right & (rng.random(20_000) < 0.9)
    found = fit_scaling([_task(labels, rows, rows)], [raw])
    assert found.slope == pytest.approx(1, abs=0.1) and found.intercept == pytest.approx(0, abs=0.5)


def test_weights_and_offsets_of_a_logistic_fit() -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(size=20_000) * 3
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * raw - 1)))).astype(np.float64)
    offsets = np.full(20_000, -1.0)
    slope, intercept = fit_logistic(raw, labels, offsets, np.ones(20_000), (1.0, 0.0))
    assert slope == pytest.approx(0.5, abs=0.05) and intercept == pytest.approx(0, abs=0.1)
    weighted = fit_logistic(raw, labels, offsets, 1.0 + 3 * labels, (1.0, 0.0))
    assert weighted[1] == pytest.approx(np.log(4), abs=0.15)


def test_pairs_that_lost_their_sentence_to_a_better_one_do_not_shape_the_scaling() -> None:
    source, target = np.array([0, 0, 1]), np.array([0, 1, 1])
    task = TaskExamples(
        Use.mining, np.empty((3, 0)), np.array([True, False, True]), np.ones(3, bool), source, target, source
    )
    assert task.matched(np.array([3.0, 2.0, 1.0])).tolist() == [0, 2]
    assert task._replace(usable=np.array([True, True, False])).matched(np.array([3.0, 2.0, 1.0])).tolist() == [0]
