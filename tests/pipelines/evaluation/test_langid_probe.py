"""The probe sees a language that is in the vectors, and none that is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
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
