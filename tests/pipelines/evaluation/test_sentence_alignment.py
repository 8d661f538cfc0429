"""The alignment benchmark: our own beads, another system's, and bad files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.document_alignment import Documents
from pipelines.evaluation.sentence_alignment import Align
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def articles(folder: Path) -> None:
    draw = np.random.default_rng(0)
    for name in ("test0", "test1"):
        meanings = draw.normal(size=(9, 24))
        target = np.concatenate([meanings[:3], [meanings[3] + meanings[4]], meanings[5:]])
        write(folder, f"{name}.de", *literal(meanings))
        write(folder, f"{name}.fr", *literal(target))
        gold = [f"[{k}]:[{k}]" for k in range(3)] + ["[3, 4]:[3]"] + [f"[{k}]:[{k - 1}]" for k in range(5, 9)]
        write(folder, f"{name}.defr", *gold)


def test_articles_of_one_name_are_scored_together(tmp_path: Path) -> None:
    articles(tmp_path)
    outcome = Align(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    assert scores_of(outcome)["test", "lax f1"] > 90
    assert scores_of(outcome)["test", "strict f1"] > 80
    assert sum(row[1] for row in outcome.attachments[0].rows) >= 14


def test_output_of_another_system(tmp_path: Path) -> None:
    articles(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    write(theirs, "test0.defr", *(tmp_path / "test0.defr").read_text().splitlines())
    write(theirs, "test1.defr", "[]:[0]:0.5")
    scores = scores_of(Align(data=".", found=str(theirs)).run(LiteralVectors(), DataFolder(tmp_path)))
    assert scores["test", "strict recall"] == 50
    assert scores["test", "strict precision"] == pytest.approx(100 * 8 / 9)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no three files"):
        Align(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    articles(tmp_path)
    with pytest.raises(InputError, match=r"there is no article of test0; there are test"):
        Align(data=".", only=("test", "test0")).run(LiteralVectors(), DataFolder(tmp_path))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    write(theirs, "test0.defr", "[0]:[99]")
    with pytest.raises(InputError, match=r"bead 1: sentence 99, but test0.fr ends with 7"):
        Align(data=".", found=str(theirs)).run(LiteralVectors(), DataFolder(tmp_path))


def test_documents_among_distractors_and_cut_ones(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    english, german, gold, alignment = [], [], [], []
    for k in range(6):
        meanings = draw.normal(size=(12, 24))
        english += [f"e{k}\t{line}" for line in literal(meanings)]
        german += [f"d{k}\t{line}" for line in literal(meanings)]
        gold.append(f"e{k}\td{k}")
        alignment += [f"e{k}\td{k}\t{i},{i + 1}\t{i},{i + 1}" for i in range(0, 12, 2)]
    write(tmp_path, "de-en/de-en.en", *english, *(f"lone\t{line}" for line in literal(draw.normal(size=(12, 24)))))
    write(tmp_path, "de-en/de-en.de", *german)
    write(tmp_path, "de-en/gold.tsv", *gold)
    write(tmp_path, "de-en/alignment.tsv", *alignment)
    for lang in ("en", "de"):
        rows = [f"{lang}{k}\t{line}" for k in range(5) for line in literal(draw.normal(size=(8, 24)))]
        write(tmp_path, f"more.{lang}.tsv", *rows)
    settings = Documents(data=".", distractors=("more.{lang}.tsv",), most_distractors=3, cut=0.4)
    outcome = settings.run(LiteralVectors(), DataFolder(tmp_path))
    scores = scores_of(outcome)
    assert scores["de-en", "documents f1"] == 100
    assert scores["de-en", "sentence pairs inside"] > 95
    assert ("de-en", "10 documents and 9 documents") in outcome.choices
