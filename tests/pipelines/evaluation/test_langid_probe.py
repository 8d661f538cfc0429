"""The probe sees a language that is in the vectors, and none that is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.aligned import read_nway
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.langid_probe import LangidProbe
from tests.pipelines.evaluation.toys import LiteralVectors, literal, write


def accuracy(folder: Path, shift: float) -> float:
    draw = np.random.default_rng(5)
    meaning = draw.normal(size=(300, 4))
    for number, code in enumerate(("de", "en", "fr")):
        marks = np.tile(np.eye(3)[number] * shift, (300, 1))
        write(folder, f"q.{code}.txt", *literal(np.hstack([meaning, marks + 0.1 * draw.normal(size=(300, 3))])))
    outcome = LangidProbe(data=".", files="q.{lang}.txt").run(LiteralVectors(), DataFolder(folder))
    assert outcome.scores[0].dataset == "de en fr"
    return outcome.scores[0].value


def test_probe(tmp_path: Path) -> None:
    assert accuracy(tmp_path, shift=3.0) > 95
    assert accuracy(tmp_path, shift=0.0) == pytest.approx(100 / 3, abs=10)


def test_groups_and_bad_data(tmp_path: Path) -> None:
    accuracy(tmp_path, shift=1.0)
    probe = LangidProbe(data=".", files="q.{lang}.txt", groups=(("de", "en"), ("fr", "en")))
    scores = probe.run(LiteralVectors(), DataFolder(tmp_path)).scores
    assert [score.dataset for score in scores] == ["de en", "fr en"]
    with pytest.raises(InputError, match="1 languages of 300 lines are too few"):
        LangidProbe(data=".", files="q.{lang}.txt", groups=(("de",),)).run(LiteralVectors(), DataFolder(tmp_path))


def test_one_tsv_with_a_column_a_language(tmp_path: Path) -> None:
    """As XNLI's xnli.15way.orig.tsv; the figure is that of a file a language."""
    accuracy(tmp_path, shift=0.3)
    columns = [(tmp_path / f"q.{code}.txt").read_text().splitlines() for code in ("fr", "de", "en")]
    write(tmp_path, "x.15way.orig.tsv", "fr\tde\ten", *map("\t".join, zip(*columns, strict=True)))
    groups = (("de", "en"), ("en", "fr"))
    values = [
        [
            s.value
            for s in LangidProbe(data=".", files=f, groups=groups).run(LiteralVectors(), DataFolder(tmp_path)).scores
        ]
        for f in ("x.15way.orig.tsv", "q.{lang}.txt")
    ]
    assert values[0] == values[1] and 50 < values[0][0] < 100
    texts = read_nway(DataFolder(tmp_path), "x.15way.orig.tsv")
    assert list(texts) == ["de", "en", "fr"] and texts["fr"].lines == columns[0]
    assert texts["fr"].name == "x.15way.orig.tsv.fr" and texts["fr"].lang == "fr"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((), "line 1: it must name two or more languages"),
        (("no header here\tnor here", "a\tb"), "line 1: it must name two or more languages"),
        (("de\tde", "a\tb"), "line 1: it must name two or more languages"),
        (("de\ten",), "no sentences after line 1"),
        (("de\ten", "a\tb", "a"), "line 3: 1 columns, but line 1 names 2"),
        (("de\tfr", "a\tb"), "no column for en; there are de, fr"),
    ],
)
def test_a_bad_tsv_is_refused(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    write(tmp_path, "x.tsv", *lines)
    with pytest.raises(InputError, match=message):
        read_nway(DataFolder(tmp_path), "x.tsv", ("de", "en"))
