"""xsim++: which candidates count as which error, in every form that the data may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.xsimpp import XsimPlusPlus
from tests.pipelines.evaluation.toys import scores_of, write

ENGLISH = [
    "Anna Berg met 17 friends in Oslo.",
    "The river near Turin is deep.",
    "We told Peter Holm about the long winter of 1984.",
    "You may take two apples now.",
]
GERMAN = ["eins", "zwei", "drei", "vier"]


class Chosen:
    """A translation has the vector of the candidate that it shall choose; all other texts are orthogonal."""

    name = fingerprint = truncation = "chosen"

    def __init__(self, choices: dict[str, str]) -> None:
        self.choices = choices
        self.places: dict[str, int] = {}

    def vectors(self, texts: Texts) -> np.ndarray:
        found = np.zeros((len(texts), 64), np.float32)
        for row, line in enumerate(texts.lines):
            key = self.choices.get(line, line)
            found[row, self.places.setdefault(key, len(self.places))] = 1
        return found


def run(folder: Path, choices: dict[str, str], **settings: Any) -> tuple[dict[tuple[str, str], float], dict[str, str]]:
    outcome = XsimPlusPlus(data=".", **settings).run(Chosen(choices), DataFolder(folder))
    return scores_of(outcome), dict(outcome.choices)


def right() -> dict[str, str]:
    return dict(zip(GERMAN, ENGLISH, strict=True))


def test_errors_are_told_apart_by_kind(tmp_path: Path) -> None:
    write(tmp_path, "en.txt", *ENGLISH)
    write(tmp_path, "de.txt", *GERMAN)
    scores, choices = run(tmp_path, right())
    assert scores["mean of 1", "xsim++ error, margin"] == scores["de-en", "mean of kinds, cosine"] == 0
    assert choices["generator for en.txt"].startswith("twinlode-edits/1, seed 0, hash ")
    wrong = right() | {"zwei": "The river near Turin is not deep.", "drei": ENGLISH[3]}
    scores, _ = run(tmp_path, wrong)
    for method in ("margin", "cosine"):
        assert scores["de-en", f"xsim++ error, {method}"] == 50
        assert scores["de-en", f"another sentence, {method}"] == 25
        assert scores["de-en", f"negation edits, {method}"] == pytest.approx(100 / 2)  # of the two that have such edits
        assert scores["de-en", f"antonym edits, {method}"] == 0
    # Someone else's edit is another sentence, as in LASER.
    scores, _ = run(tmp_path, right() | {"eins": "The river near Turin is not deep."})
    assert scores["de-en", "negation edits, cosine"] == 0
    assert scores["de-en", "another sentence, cosine"] == 25


def test_every_form_of_data_gives_the_same(tmp_path: Path) -> None:
    wrong = right() | {"zwei": "The river near Turin is not deep."}
    write(tmp_path / "nway", "q.en", *ENGLISH)
    write(tmp_path / "nway", "q.de", *GERMAN)
    write(tmp_path / "tsv", "en-de.tsv", *(f"{e}\t{d}" for e, d in zip(ENGLISH, GERMAN, strict=True)))
    write(tmp_path / "bucc", "de-en.de", *(f"d{i}\t{text}" for i, text in enumerate([*GERMAN, "fünf"])))
    write(tmp_path / "bucc", "de-en.en", *(f"e{i}\t{text}" for i, text in enumerate(["No.", *ENGLISH])))
    write(tmp_path / "bucc", "de-en.gold", *(f"d{i}\te{i + 1}" for i in range(4)))
    figures = [
        run(tmp_path / name, wrong, files="q.{lang}")[0]["mean of 1", "xsim++ error, margin"]
        for name in ("nway", "tsv", "bucc")
    ]
    assert figures == [25, 25, 25]


def test_the_published_files_of_laser(tmp_path: Path) -> None:
    edit = "The river near Turin is not deep."
    write(tmp_path, "eng_Latn.devtest", *ENGLISH)
    write(tmp_path, "deu_Latn.devtest", *GERMAN)
    write(tmp_path, "eng_Latn_augmented.devtest", *ENGLISH, edit, "Anna Berg met 18 friends in Oslo.", "Neither.")
    known = {edit: {"src": ENGLISH[1], "errtype": "Causality"}}
    known["Anna Berg met 18 friends in Oslo."] = {"src": ENGLISH[0], "errtype": "Number"}
    write(tmp_path, "eng_Latn_errtype.devtest.json", json.dumps(known))
    files = {
        "files": "{lang}.devtest",
        "pivot": "eng_Latn",
        "languages": ("deu_Latn",),
        "augmented": "eng_Latn_augmented.devtest",
        "errtypes": "eng_Latn_errtype.devtest.json",
    }
    scores, choices = run(tmp_path, right() | {"zwei": edit, "drei": "Neither."}, **files)
    assert scores["deu_Latn-eng_Latn", "xsim++ error, margin"] == 50
    assert scores["deu_Latn-eng_Latn", "Causality edits, margin"] == 100
    assert scores["deu_Latn-eng_Latn", "Number edits, margin"] == 0
    assert scores["deu_Latn-eng_Latn", "another sentence, margin"] == 25
    assert choices["generator for eng_Latn.devtest"].startswith("published: eng_Latn_augmented.devtest")
    write(tmp_path, "eng_Latn_errtype.devtest.json", "[1, 2]")
    with pytest.raises(InputError, match=r"errtype\.devtest\.json: not the JSON of LASER's edits"):
        run(tmp_path, right(), **files)
    write(tmp_path, "eng_Latn_augmented.devtest", *ENGLISH[1:])
    write(tmp_path, "eng_Latn_errtype.devtest.json", json.dumps(known))
    with pytest.raises(InputError, match=r"1 sentences of eng_Latn\.devtest are not among the candidates"):
        run(tmp_path, right(), **files)


def test_bad_data(tmp_path: Path) -> None:
    write(tmp_path / "a", "fr.txt", "oui")
    write(tmp_path / "a", "de.txt", "ja")
    with pytest.raises(InputError, match="edits are made of English sentences; fr has none"):
        run(tmp_path / "a", {}, pivot="fr")
    with pytest.raises(InputError, match=r"no file like '\{lang\}\.txt' for en"):
        run(tmp_path / "a", {})
    write(tmp_path / "b", "de-fr.tsv", "ja\toui", "nein\tnon")
    with pytest.raises(InputError, match="edits are made of English sentences; de-fr has none"):
        run(tmp_path / "b", {})
    write(tmp_path / "c", "en.txt", "Foo", "Bar")
    write(tmp_path / "c", "de.txt", "ja", "nein")
    with pytest.raises(InputError, match="is it English"):
        run(tmp_path / "c", {})
    (tmp_path / "d").mkdir()
    with pytest.raises(InputError, match=r"no corpora in the form of BUCC; .*; or line-aligned files like"):
        run(tmp_path / "d", {})
    with pytest.raises(ValueError, match="augmented and errtypes belong together"):
        XsimPlusPlus(data=".", augmented="x")
