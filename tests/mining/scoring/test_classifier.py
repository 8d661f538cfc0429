from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.scoring.classifier import ABOUT, PairClassifier, Use, is_classifier, load_classifier, raw_scores
from mining.scoring.features import NAMES, RATIO
from mining.scoring.fitting import TaskExamples, fit_head
from mining.scoring.trees import parse_trees


@pytest.fixture(scope="module")
def examples() -> TaskExamples:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, len(NAMES))).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[:, RATIO] = 1.0  # of which a little goes into the score; here it decides nothing
    labels = np.nan_to_num(features[:, 3]) + 0.5 * rng.normal(size=4000) > 0.5
    rows = np.arange(4000)
    return TaskExamples(Use.mining, features, labels, np.ones(4000, bool), rows, rows, (~labels).astype(np.int64))


@pytest.fixture(scope="module")
def classifier(examples: TaskExamples) -> PairClassifier:
    head, components = fit_head([examples], Use.mining, 20, threads=1, models=2)
    projection = np.random.default_rng(2).normal(size=(16, 4)).astype(np.float32)
    return PairClassifier({Use.mining: head}, components, projection, "fingerprint", {"pairs": 3})


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
    np.testing.assert_allclose(again.components.densities, classifier.components.densities, rtol=1e-6)
    np.testing.assert_allclose(again.project(vectors), classifier.project(vectors), atol=0.02)


def test_the_score_is_the_mean_of_two_models(classifier: PairClassifier, examples: TaskExamples) -> None:
    head = classifier.heads[Use.mining]
    assert len(set(head.models)) == 2
    singly = [raw_scores(parse_trees(model), examples.features, Use.mining) for model in head.models]
    np.testing.assert_allclose(
        classifier.log_ratios(examples.features, Use.mining),
        head.scaling.log_ratios(np.mean(singly, axis=0)),
        rtol=1e-4,
        atol=1e-5,
    )


def test_the_log_ratios_rank_right_pairs_first(classifier: PairClassifier, examples: TaskExamples) -> None:
    scores = classifier.log_ratios(examples.features, Use.mining)
    assert scores[examples.labels].mean() > scores[~examples.labels].mean() + 1
    assert len(classifier.log_ratios(examples.features[:0], Use.mining)) == 0


def test_an_explanation_adds_up_and_names_what_decides(classifier: PairClassifier, examples: TaskExamples) -> None:
    head = classifier.heads[Use.mining]
    (explained,) = classifier.explain(examples.features[:1], Use.mining, most=len(NAMES))
    base, raw = (
        np.mean(
            [
                np.asarray(booster.predict(examples.features[:1], **{kind: True})).ravel()[-1]
                for booster in head.boosters
            ]
        )
        for kind in ("pred_contrib", "raw_score")
    )
    assert head.scaling.slope * base + sum(part.log_odds for part in explained) == pytest.approx(
        head.scaling.slope * raw, abs=1e-3
    )
    assert next(iter(classifier.importance(Use.mining))) == NAMES[3]


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
    with pytest.raises(InputError, match=message) as refused:
        load_classifier(str(tmp_path / "bad"))
    assert str(refused.value).count("train it again") == 1


def test_a_file_of_another_classifier_is_refused(classifier: PairClassifier, tmp_path: Path) -> None:
    classifier.save(str(tmp_path))
    trees = tmp_path / "trees-mining-2.txt.gz"
    trees.write_bytes(trees.read_bytes() + b"x")
    with pytest.raises(InputError, match=r"trees-mining-2\.txt\.gz: not the file"):
        load_classifier(str(tmp_path))
