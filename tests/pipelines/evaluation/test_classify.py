"""Zero-shot classification and the classifiers it uses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.classifiers import LabelledVectors, MlpSettings, first_of_each, predict, train_mlp
from pipelines.evaluation.classify import Classify, unit_rows
from pipelines.evaluation.labelled import read_labelled, some_of
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def blobs(count: int, seed: int, spread: float = 0.5) -> LabelledVectors:
    draw = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    return LabelledVectors((np.eye(3)[labels] * 2 + spread * draw.normal(size=(count, 3))).astype(np.float32), labels)


def test_mlp_learns_repeats_itself_and_ignores_the_global_seed() -> None:
    import torch

    train, dev, test = blobs(90, 0), blobs(30, 1), blobs(200, 2)
    settings = MlpSettings(epochs=30)
    first = predict(train_mlp(train, dev, 3, settings, seed=4), test.vectors)
    torch.manual_seed(99)
    second = predict(train_mlp(train, dev, 3, settings, seed=4), test.vectors)
    np.testing.assert_array_equal(first, second)
    assert (first == test.labels).mean() > 0.9


def labelled_lines(examples: LabelledVectors) -> list[str]:
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


class RememberedLanguages(LiteralVectors):
    def __init__(self) -> None:
        super().__init__()
        self.languages: set[str | None] = set()

    def vectors(self, texts: Texts) -> np.ndarray:
        self.languages.add(texts.lang)
        return super().vectors(texts)


def test_mldoc_names_its_languages(tmp_path: Path) -> None:
    for name in ("english", "german"):
        write(tmp_path, f"{name}.train.1000", *labelled_lines(blobs(30, 0)))
        write(tmp_path, f"{name}.dev", *labelled_lines(blobs(9, 2)))
        write(tmp_path, f"{name}.test", *labelled_lines(blobs(9, 1)))
    source = RememberedLanguages()
    outcome = Classify(data=".", seeds=1, epochs=1, train_languages=("english",)).run(source, DataFolder(tmp_path))
    assert [score.dataset for score in outcome.scores] == ["english-english", "english-german", "mean of 1, zero-shot"]
    assert source.languages == {"en", "de"}
    write(tmp_path, "english.train.2000", "c0\t1 0 0")
    with pytest.raises(InputError, match=r"english\.train\.2000 both fit '\{lang\}\.train\*' for english; name one"):
        Classify(data=".").run(source, DataFolder(tmp_path))


def test_codes_with_regions_are_not_taken_for_pairs(tmp_path: Path) -> None:
    for name in ("pt-BR", "zh-CN"):
        write(tmp_path, f"{name}.train", *labelled_lines(blobs(30, 0)))
        write(tmp_path, f"{name}.test", *labelled_lines(blobs(9, 1)))
    outcome = Classify(data=".", seeds=1, epochs=1).run(LiteralVectors(), DataFolder(tmp_path))
    assert outcome.scores[-1].dataset == "mean of 2, zero-shot"


@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_mtop_and_its_form_in_mteb(tmp_path: Path, ending: str) -> None:
    rows = [line.split("\t") for line in labelled_lines(blobs(12, 0))]
    table = [f"7\tIN:SET\t0:1:SL:A\t{text}\t{label}\ten_XX\t[IN:SET ]\t{{}}" for label, text in rows]
    records = [json.dumps({"id": "1", "text": text, "label": label}) for label, text in rows]
    write(tmp_path, f"en/train.{ending}", *(table if ending == "txt" else records))
    found = read_labelled(DataFolder(tmp_path), f"en/train.{ending}", "en")
    assert found.labels[:3] == ["c0", "c1", "c2"] and found.texts.lines == literal(blobs(12, 0).vectors)


def test_few_shots_as_mteb_draws_them(tmp_path: Path) -> None:
    for seed, code in enumerate(("de", "en")):
        write(tmp_path, f"{code}/train.txt", *labelled_lines(blobs(90, seed)))
        write(tmp_path, f"{code}/test.txt", *labelled_lines(blobs(30, 10 + seed)))
    settings = Classify(data=".", protocol="mteb", train="{lang}/train.txt", test="{lang}/test.txt")
    scores = scores_of(settings.run(LiteralVectors(), DataFolder(tmp_path)))
    assert min(scores["de", "accuracy"], scores["en", "accuracy"]) > 80
    assert scores["mean of 2, same language", "accuracy"] == pytest.approx(
        np.mean([scores["de", "accuracy"], scores["en", "accuracy"]])
    )


@pytest.mark.slow
def test_few_shots_are_those_of_mteb() -> None:
    """Its own `_undersample_data`, one draw after the other."""
    from datasets import Dataset
    from mteb.tasks.classification import MTOPDomainClassification

    labels = np.random.default_rng(0).integers(0, 4, 200)
    task, theirs, ours = MTOPDomainClassification(), None, list(range(200))
    for draw in range(3):
        _, theirs, chosen = task._undersample_data(Dataset.from_dict({"label": labels.tolist()}), draw, theirs)
        np.random.RandomState(task.seed).shuffle(ours)
        assert first_of_each(labels, ours) == chosen


def test_reviews_of_cls_and_marc(tmp_path: Path) -> None:
    items = [f"<item><rating>{stars}.0</rating><text>a\n{stars}</text></item>" for stars in (1, 3, 5)]
    write(tmp_path, "jp/books/train.review", "<items>", *items, "</items>")
    write(tmp_path, "train.json", *(json.dumps({"stars": str(n), "review_body": f"a {n}"}) for n in (2, 3, 4)))
    data = DataFolder(tmp_path)
    for name, texts in (("jp/books/train.review", ["a 1", "a 5"]), ("train.json", ["a 2", "a 4"])):
        labelled = read_labelled(data, name, "jp")
        assert (labelled.labels, labelled.texts.lines) == (["negative", "positive"], texts)
        assert labelled.texts.lang == "ja"
    write(tmp_path, "bad.review", "<items><item>")
    with pytest.raises(InputError, match=r"bad\.review: not reviews with rating and text"):
        read_labelled(data, "bad.review", "de")


def test_some_texts_are_as_many_of_each_label(tmp_path: Path) -> None:
    write(tmp_path, "x.tsv", *(f"{'ab'[n % 5 == 0]}\t{n}" for n in range(50)))
    some = some_of(read_labelled(DataFolder(tmp_path), "x.tsv", "en"), 12, seed=0)
    assert sorted(some.labels) == ["a"] * 6 + ["b"] * 6


def test_means_of_directions_with_english(tmp_path: Path) -> None:
    for seed, code in enumerate(("german", "english", "french")):
        write(tmp_path, f"{code}.train.1000", *labelled_lines(blobs(30, seed)))
        write(tmp_path, f"{code}.test", *labelled_lines(blobs(15, 10 + seed)))
    scores = scores_of(Classify(data=".", seeds=1, epochs=5).run(LiteralVectors(), DataFolder(tmp_path)))
    out, back = (["english-german", "english-french"], ["german-english", "french-english"])
    for name, directions in (
        ("mean of 4 with English, zero-shot", out + back),
        ("mean of en-X", out),
        ("mean of X-en", back),
    ):
        assert scores[name, "accuracy"] == pytest.approx(np.mean([scores[d, "accuracy"] for d in directions]))


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
