"""Zero-shot classification and the classifiers it uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mining.errors import InputError
from pipelines.benchmarks.classifiers import Examples, MlpSettings, predict, train_linear, train_mlp
from pipelines.benchmarks.classify import Classify, unit_rows
from pipelines.benchmarks.data import DataFolder
from tests.pipelines.benchmarks.toys import LiteralVectors, literal, scores_of, write


def blobs(count: int, seed: int, spread: float = 0.5) -> Examples:
    draw = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    return Examples((np.eye(3)[labels] * 2 + spread * draw.normal(size=(count, 3))).astype(np.float32), labels)


def test_linear_classifier_equals_scikit_learn() -> None:
    train, test = blobs(150, 0, spread=1.2), blobs(300, 1, spread=1.2)
    theirs = LogisticRegression(C=0.7, tol=1e-8, max_iter=1000).fit(train.vectors, train.labels)
    ours = train_linear(train, 3, strength=0.7)
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.coef_, atol=2e-3)
    assert (predict(ours, test.vectors) == theirs.predict(test.vectors)).mean() > 0.99


def test_mlp_learns_repeats_itself_and_ignores_the_global_seed() -> None:
    import torch

    train, dev, test = blobs(90, 0), blobs(30, 1), blobs(200, 2)
    settings = MlpSettings(epochs=30)
    first = predict(train_mlp(train, dev, 3, settings, seed=4), test.vectors)
    torch.manual_seed(99)
    second = predict(train_mlp(train, dev, 3, settings, seed=4), test.vectors)
    np.testing.assert_array_equal(first, second)
    assert (first == test.labels).mean() > 0.9


def labelled_lines(examples: Examples) -> list[str]:
    return [f"c{label}\t{line}" for label, line in zip(examples.labels, literal(examples.vectors), strict=True)]


def test_from_every_training_language_to_every_test_language(tmp_path: Path) -> None:
    for seed, code in enumerate(("de", "en")):
        write(tmp_path, f"{code}.train.1000", *labelled_lines(blobs(60, seed)))
        write(tmp_path, f"{code}.test", *labelled_lines(blobs(30, 10 + seed)))
    write(tmp_path, "en.dev", *labelled_lines(blobs(15, 20)))
    write(tmp_path, "fr.test", *labelled_lines(blobs(30, 21)))
    outcome = Classify(data=".", seeds=3, epochs=20, learning_rate=0.02).run(LiteralVectors(), DataFolder(tmp_path))
    scores = scores_of(outcome)
    assert {dataset for dataset, _ in scores} >= {"de-de", "de-en", "de-fr", "en-de", "en-en", "en-fr"}
    away = [scores[name, "accuracy"] for name in ("de-en", "de-fr", "en-de", "en-fr")]
    assert scores["mean of 4, zero-shot", "accuracy"] == pytest.approx(np.mean(away))
    assert min(away) > 80
    deviations = {score.dataset: score.deviation for score in outcome.scores}
    assert deviations["de-en"] is not None and deviations["de-en"] >= 0


def test_bad_labels(tmp_path: Path) -> None:
    write(tmp_path, "en.train", *labelled_lines(blobs(30, 0)))
    write(tmp_path, "de.test", "c0\t1 0 0", "c9\t1 0 0")
    with pytest.raises(
        InputError, match=r"de\.test, line 2: the label 'c9' is not in the training data, .* c0, c1, c2"
    ):
        Classify(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    write(tmp_path, "en.train", "c0\t1 0 0")
    with pytest.raises(InputError, match=r"en\.train: every text has the label 'c0'"):
        Classify(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    write(tmp_path, "de.test")
    with pytest.raises(InputError, match="nothing to evaluate for de"):
        Classify(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    with pytest.raises(InputError, match="for fr"):
        Classify(data=".", train_languages=("fr",)).run(LiteralVectors(), DataFolder(tmp_path))


def test_unit_rows() -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3, 4], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]])
