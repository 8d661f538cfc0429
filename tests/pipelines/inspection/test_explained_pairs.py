"""Why mined pairs have the scores that they have."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from mining.errors import InputError
from mining.pair_formats import Format, write_pairs
from mining.scoring.classifier import FOLDER
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.cli import app
from pipelines.datasets.manifest import Dataset
from pipelines.inspection.explained_pairs import explain_pairs, given_scores, pairs_file
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.text_job import mine_corpora
from tests.pipelines.clean.test_rescored_mine import edited, job_of


def mined(encoder: Path, folder: Path, **changes: object) -> Dataset:
    return mine_corpora(job_of(encoder, folder, **changes)).pairs


def test_mined_pairs_are_explained_by_what_scored_them(scoring_encoder: Path, tmp_path: Path) -> None:
    pairs = mined(scoring_encoder, tmp_path)
    file = pairs_file(pairs.url)
    found = explain_pairs(BitextSettings(path=file.url), str(scoring_encoder), 40)
    given = np.array([pair.given for pair in found])
    (table,) = pair_batches(pairs)
    assert np.array_equal(given, table["score"].to_numpy()[:40])
    assert np.corrcoef(given, [pair.log_odds for pair in found])[0, 1] > 0.9, "but for the sentences in no pair"
    assert not file.doubts(str(scoring_encoder), None)


def test_a_classifier_of_ones_own_explains_what_it_scored(scoring_encoder: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(scoring_encoder / FOLDER, tmp_path / "own"))
    edited(own, about={})
    pairs = mined(scoring_encoder, tmp_path, classifier=str(own))
    told = ["inspect", pairs.url, "--explain", "--rows", "2", "--encoder", str(scoring_encoder)]
    named = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*told, "--classifier", str(own)])
    assert named.exit_code == 0 and named.stdout.count("score in the file") == 2
    assert "note" not in named.stderr
    assert "another pair classifier gave these scores" in CliRunner().invoke(app, told).stderr
    refused = CliRunner().invoke(app, [*told, "--classifier", str(tmp_path / "none")])
    assert isinstance(refused.exception, InputError) and "no pair classifier there" in str(refused.exception)


def test_languages_that_nobody_names_are_those_of_the_mine(scoring_encoder: Path, tmp_path: Path) -> None:
    file = pairs_file(mined(scoring_encoder, tmp_path).url)
    found, notes = file.with_languages(BitextSettings(path=file.url))
    assert (found.src_lang, found.tgt_lang, notes) == ("de", "en", [])
    given, _ = file.with_languages(BitextSettings(path=file.url, src_lang="fr"))
    assert (given.src_lang, given.tgt_lang) == ("fr", "en")


def test_one_note_where_languages_cannot_be_told(scoring_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("12 34\t56 78\n90\t12\n")
    told = ["inspect", str(tmp_path / "in.tsv"), "--explain", "--encoder", str(scoring_encoder)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, told, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr.count("note: a language cannot be told from the pairs") == 1


def test_scores_of_a_mine_by_margin_are_no_classifiers(scoring_encoder: Path, tmp_path: Path) -> None:
    file = pairs_file(mined(scoring_encoder, tmp_path, rescore="off").url)
    (note,) = file.doubts(str(scoring_encoder), None)
    assert note.startswith("these scores are margins")


@pytest.mark.parametrize(("kind", "given"), [("tsv", 1.5), ("jsonl", 1.5), ("parquet", 1.5), ("tmx", None)])
def test_the_score_that_a_file_has(kind: str, given: float | None, tmp_path: Path) -> None:
    table = pa.table({"src_text": ["good day"], "tgt_text": ["guten Tag"], "score": [1.5]})
    write_pairs(str(tmp_path / f"in.{kind}"), [table], src_lang="en", tgt_lang="de")
    bitext = BitextSettings(path=str(tmp_path / f"in.{kind}"), src_lang="en", tgt_lang="de")
    assert given_scores(next(read_chunks(bitext)), Format(kind)) == [given]


@pytest.mark.parametrize("line", ["good day\tguten Tag", "en\tgood day\tguten Tag"])
def test_texts_alone_have_no_score(line: str, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text(f"{line}\n")
    columns = None if line.count("\t") == 1 else ("2", "3")
    bitext = BitextSettings(path=str(tmp_path / "in.tsv"), columns=columns)
    assert given_scores(next(read_chunks(bitext)), Format.TSV) == [None]
