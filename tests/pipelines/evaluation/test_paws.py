"""PAWS-X: the threshold of the dev set on the test set."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.paws import SAME, TUNED, PawsX
from pipelines.evaluation.sources import load_source
from tests.encoder.fixtures import WORDS, write_tiny_xlm_roberta
from tests.pipelines.evaluation.toys import LiteralVectors, scores_of, write

HEADER = "id\tsentence1\tsentence2\tlabel"


def pairs(*cosine_and_label: tuple[float, int]) -> list[str]:
    """Pairs of two-dimensional unit vectors with these cosines."""
    return [HEADER, *(f"1\t1 0\t{c} {(1 - c * c) ** 0.5:.6f}\t{label}" for c, label in cosine_and_label)]


def test_threshold_from_dev_or_from_one_language(tmp_path: Path) -> None:
    write(tmp_path, "de/dev_2k.tsv", *pairs((0.9, 1), (0.7, 1), (0.5, 0)))  # threshold 0.6
    write(tmp_path, "de/test_2k.tsv", *pairs((0.8, 1), (0.65, 0), (0.4, 0), (0.3, 0)))
    write(tmp_path, "en/dev_2k.tsv", *pairs((0.9, 1), (0.6, 0)))  # threshold 0.75
    write(tmp_path, "en/test_2k.tsv", *pairs((0.8, 1), (0.1, 0)))
    scores = scores_of(PawsX(data=".").run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores["de", TUNED] == 75.0 and scores["de", SAME] == 100.0
    assert scores["mean of 2", TUNED] == 87.5
    assert scores["de", "average precision"] == 100.0
    moved = scores_of(PawsX(data=".", threshold_language="en").run(LiteralVectors(), DataFolder(tmp_path)))
    assert moved["de", TUNED] == 100.0


def test_without_dev_only_the_labelled_figure(tmp_path: Path) -> None:
    write(tmp_path, "de/test_2k.tsv", *pairs((0.8, 1), (0.4, 0)))
    outcome = PawsX(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    scores = scores_of(outcome)
    assert "same gold only for de" in dict(outcome.choices)["threshold"]
    assert ("de", TUNED) not in scores and scores["de", SAME] == 100.0
    with pytest.raises(InputError, match=r"no en/dev_2k\.tsv to take the threshold from"):
        PawsX(data=".", threshold_language="en").run(LiteralVectors(), DataFolder(tmp_path))


def test_bad_files(tmp_path: Path) -> None:
    write(tmp_path, "de/test_2k.tsv", HEADER, "1\t1 0\t1 0\tyes")
    with pytest.raises(InputError, match="line 2: the label is 'yes', not 0 or 1"):
        PawsX(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    write(tmp_path, "de/test_2k.tsv", HEADER)
    with pytest.raises(InputError, match="the file is empty; there is nothing to evaluate"):
        PawsX(data=".").run(LiteralVectors(), DataFolder(tmp_path))


def test_fine_tuned_on_english(tmp_path: Path) -> None:
    """A paraphrase ends with `and`: what one epoch learns, and only from the pair; the encoder stays as it was."""
    source = load_source(str(write_tiny_xlm_roberta(tmp_path / "hf")))
    rows = [HEADER]
    for n, (one, other) in enumerate(product(WORDS[2:8], WORDS[8:12])):
        rows.append(f"{n}\tthe {one}\t{other} {'and' if n % 2 else 'or'}\t{n % 2}")
    for name in ("en/train.tsv", "en/dev_2k.tsv", "en/test_2k.tsv", "de/test_2k.tsv"):
        write(tmp_path, name, *rows)
    before = source.vectors(Texts("x", ["the cat"], "en")).copy()
    settings = PawsX(data=".", finetune=True, epochs=8, batch=8, learning_rate=5e-3, max_tokens=16)
    scores = scores_of(settings.run(source, DataFolder(tmp_path)))
    assert scores["de", "accuracy, fine-tuned"] == scores["mean of 2", "accuracy, fine-tuned"] > 90
    assert (source.vectors(Texts("y", ["the cat"], "de")) == before).all()
    with pytest.raises(InputError, match="only an encoder from transformers can be fine-tuned"):
        settings.run(LiteralVectors(), DataFolder(tmp_path))
