from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.scoring.classifier import (
    ABOUT,
    PairClassifier,
    TaskExamples,
    Use,
    fit_head,
    fit_logistic,
    fit_scaling,
    is_classifier,
    load_classifier,
)
from mining.scoring.features import NAMES, RATIO


@pytest.fixture(scope="module")
def examples() -> TaskExamples:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, len(NAMES))).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[:, RATIO] = 1.0  # of which a little goes into the score; here it decides nothing
    labels = np.nan_to_num(features[:, 3]) + 0.5 * rng.normal(size=4000) > 0.5
    rows = np.arange(4000)
    return TaskExamples(Use.mining, features, labels, np.ones(4000, bool), rows, rows)


@pytest.fixture(scope="module")
def classifier(examples: TaskExamples) -> PairClassifier:
    head = fit_head([examples], Use.mining, 20, threads=1)
    projection = np.random.default_rng(2).normal(size=(16, 4)).astype(np.float32)
    return PairClassifier({Use.mining: head}, projection, "fingerprint", {"pairs": 3})


def test_saved_and_loaded_it_gives_the_same_scores(
    classifier: PairClassifier, examples: TaskExamples, tmp_path: Path
) -> None:
    folder = str(tmp_path / "classifier")
    assert not is_classifier(folder)
    classifier.save(folder)
    assert is_classifier(folder)
    again = load_classifier(folder)
    np.testing.assert_array_equal(
        again.log_ratios(examples.features, Use.mining), classifier.log_ratios(examples.features, Use.mining)
    )
    assert (again.encoder, again.about) == ("fingerprint", {"pairs": 3})
    vectors = np.ones((2, 16), np.float32)
    np.testing.assert_allclose(again.project(vectors), classifier.project(vectors), atol=0.02)


def test_the_log_ratios_rank_right_pairs_first(classifier: PairClassifier, examples: TaskExamples) -> None:
    scores = classifier.log_ratios(examples.features, Use.mining)
    assert scores[examples.labels].mean() > scores[~examples.labels].mean() + 1
    assert len(classifier.log_ratios(examples.features[:0], Use.mining)) == 0


def test_an_explanation_adds_up_and_names_what_decides(classifier: PairClassifier, examples: TaskExamples) -> None:
    head = classifier.heads[Use.mining]
    (explained,) = classifier.explain(examples.features[:1], Use.mining, most=len(NAMES))
    base = np.asarray(head.booster.predict(examples.features[:1], pred_contrib=True))[0, -1]
    raw = float(np.asarray(head.booster.predict(examples.features[:1], raw_score=True))[0])
    assert head.scaling.slope * base + sum(part.log_odds for part in explained) == pytest.approx(
        head.scaling.slope * raw, abs=1e-3
    )
    assert next(iter(classifier.importance(Use.mining))) == NAMES[3]


def test_the_scaling_is_the_same_whatever_the_share_of_right_pairs() -> None:
    rng = np.random.default_rng(2)
    tasks, scores = [], []
    for share in (0.1, 0.7):
        labels = rng.random(20_000) < share
        raw = rng.normal(size=20_000) + 2.0 * labels  # whose log likelihood ratio is 2 raw - 2
        rows = np.arange(20_000)
        tasks.append(TaskExamples(Use.mining, np.empty((20_000, 0)), labels, np.ones(20_000, bool), rows, rows))
        scores.append(raw)
    found = fit_scaling(tasks, scores)
    assert found.slope == pytest.approx(2, abs=0.1) and found.intercept == pytest.approx(-2, abs=0.1)
    assert found.spread < 0.1


def test_translations_that_nobody_labelled_do_not_flatten_the_scaling() -> None:
    rng = np.random.default_rng(4)
    right = rng.random(20_000) < 0.3
    raw = 4 * (rng.normal(size=20_000) + 4.0 * right) - 8  # its own log likelihood ratio
    rows = np.arange(20_000)
    labels = right & (rng.random(20_000) < 0.9)
    found = fit_scaling(
        [TaskExamples(Use.mining, np.empty((20_000, 0)), labels, np.ones(20_000, bool), rows, rows)], [raw]
    )
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
    task = TaskExamples(Use.mining, np.empty((3, 0)), np.array([True, False, True]), np.ones(3, bool), source, target)
    assert task.matched(np.array([3.0, 2.0, 1.0])).tolist() == [0, 2]
    assert task._replace(usable=np.array([True, True, False])).matched(np.array([3.0, 2.0, 1.0])).tolist() == [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda text: text[:50], "damaged"), (lambda text: text.replace('"cosine"', '"sine"'), "another version")],
)
def test_what_is_no_classifier_is_refused(classifier: PairClassifier, tmp_path: Path, change, message: str) -> None:
    with pytest.raises(InputError, match="no pair classifier"):
        load_classifier(str(tmp_path / "none"))
    classifier.save(str(tmp_path / "bad"))
    about = tmp_path / "bad" / ABOUT
    about.write_text(change(about.read_text()))
    with pytest.raises(InputError, match=message):
        load_classifier(str(tmp_path / "bad"))


def test_a_file_of_another_classifier_is_refused(classifier: PairClassifier, tmp_path: Path) -> None:
    classifier.save(str(tmp_path))
    trees = tmp_path / "trees-mining.txt"
    trees.write_text(trees.read_text() + "\n")
    with pytest.raises(InputError, match=r"trees-mining\.txt: not the file"):
        load_classifier(str(tmp_path))
