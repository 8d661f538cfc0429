"""Hubness of a space with a hub in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.hubness import HubnessOfSpace
from tests.pipelines.evaluation.test_bucc import corpora
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def test_against_a_literal_count(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    source, target = (np.round(draw.normal(size=(40, 6)) + 0.5, 6) for _ in range(2))
    write(tmp_path, "q.de.txt", *literal(source))
    write(tmp_path, "q.en.txt", *literal(target))
    outcome = HubnessOfSpace(data=".", files="q.{lang}.txt", k=3).run(LiteralVectors(), DataFolder(tmp_path))
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (source, target)]
    counts = np.zeros(40, int)
    for row in unit[0] @ unit[1].T:
        counts[np.argsort(-row)[:3]] += 1
    scores = scores_of(outcome)
    assert scores["de-en forward", "skewness of N_k"] == pytest.approx(scipy.stats.skew(counts))
    assert scores["de-en forward", "hubs, %"] == pytest.approx(100 * np.mean(counts > 6))
    assert scores["de-en forward", "antihubs, %"] == pytest.approx(100 * np.mean(counts == 0))
    assert counts.max() > 6 and counts.min() == 0


@pytest.mark.parametrize(("code", "there"), [("de", "de"), ("en", "en")])
def test_without_the_pivot_or_another_language(tmp_path: Path, code: str, there: str) -> None:
    write(tmp_path, f"q.{code}.txt", "1 0", "0 1")
    with pytest.raises(InputError, match=f"the pivot en and another language are needed; there are {there}$"):
        HubnessOfSpace(data=".", files="q.{lang}.txt").run(LiteralVectors(), DataFolder(tmp_path))


def test_of_comparable_corpora(tmp_path: Path) -> None:
    corpora(tmp_path, "de-en/de-en", seed=1, noise=0.2)
    outcome = HubnessOfSpace(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    assert [score.name for score in outcome.scores if score.headline] == ["mean of 2 skewness of N_k"]
    (tmp_path / "fr-en").mkdir()
    for file in (tmp_path / "de-en").iterdir():
        shutil.copy(file, tmp_path / "fr-en" / file.name.replace("de", "fr"))
    for pairs, directions in (((), 4), (("fr-en",), 2)):
        outcome = HubnessOfSpace(data=".", pairs=pairs).run(LiteralVectors(), DataFolder(tmp_path))
        assert f"mean of {directions} skewness of N_k" in [score.name for score in outcome.scores]
    with pytest.raises(InputError, match="no corpora of es-en; there are de-en, fr-en"):
        HubnessOfSpace(data=".", pairs=("es-en",)).run(LiteralVectors(), DataFolder(tmp_path))
