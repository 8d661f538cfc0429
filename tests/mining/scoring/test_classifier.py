from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.scoring.classifier import (
    ABOUT,
    Examples,
    PairClassifier,
    Use,
    fit_calibration,
    fit_head,
    is_classifier,
    load_classifier,
)
from mining.scoring.features import NAMES, RATIO


@pytest.fixture(scope="module")
def examples() -> Examples:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, len(NAMES))).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[:, RATIO] = 1.0  # of which a little goes into the score; here it decides nothing
    labels = np.nan_to_num(features[:, 3]) + 0.5 * rng.normal(size=4000) > 0.5
    return Examples(Use.mining, features, labels)


@pytest.fixture(scope="module")
def classifier(examples: Examples) -> PairClassifier:
    head = fit_head([examples], Use.mining, 20, np.random.default_rng(1), threads=1)
    projection = np.random.default_rng(2).normal(size=(16, 4)).astype(np.float32)
    return PairClassifier({Use.mining: head}, projection, "fingerprint", {"pairs": 3})


def test_saved_and_loaded_it_gives_the_same_scores(
    classifier: PairClassifier, examples: Examples, tmp_path: Path
) -> None:
    folder = str(tmp_path / "classifier")
    assert not is_classifier(folder)
    classifier.save(folder)
    assert is_classifier(folder)
    again = load_classifier(folder)
    np.testing.assert_array_equal(
        again.log_odds(examples.features, Use.mining), classifier.log_odds(examples.features, Use.mining)
    )
    assert (again.encoder, again.about) == ("fingerprint", {"pairs": 3})
    vectors = np.ones((2, 16), np.float32)
    np.testing.assert_allclose(again.project(vectors), classifier.project(vectors), atol=0.02)


def test_the_log_odds_rank_right_pairs_first(classifier: PairClassifier, examples: Examples) -> None:
    scores = classifier.log_odds(examples.features, Use.mining)
    assert scores[examples.labels].mean() > scores[~examples.labels].mean() + 1
    assert len(classifier.log_odds(examples.features[:0], Use.mining)) == 0


def test_an_explanation_adds_up_and_names_what_decides(classifier: PairClassifier, examples: Examples) -> None:
    head = classifier.heads[Use.mining]
    (explained,) = classifier.explain(examples.features[:1], Use.mining, most=len(NAMES))
    base = np.asarray(head.booster.predict(examples.features[:1], pred_contrib=True))[0, -1]
    raw = float(np.asarray(head.booster.predict(examples.features[:1], raw_score=True))[0])
    assert head.slope * base + sum(part.log_odds for part in explained) == pytest.approx(head.slope * raw, abs=1e-3)
    assert next(iter(classifier.importance(Use.mining))) == NAMES[3]


def test_calibration_makes_probabilities_of_scores() -> None:
    rng = np.random.default_rng(2)
    raw = rng.normal(size=20_000) * 3
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * raw - 1)))
    slope, intercept = fit_calibration(raw, labels)
    assert slope == pytest.approx(0.5, abs=0.05) and intercept == pytest.approx(-1, abs=0.1)


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
