"""Clusters and their purity."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.purity import PurityOfClusters
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


def test_purity_of_separate_labels_is_100(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    labels = np.arange(40) % 4
    lines = literal(np.eye(4)[labels] + 0.05 * draw.normal(size=(40, 4)))
    records = [json.dumps({"label": str(n), "sentence": line}) for n, line in zip(labels, lines, strict=True)]
    write(tmp_path, "dev.json", *records)
    write(tmp_path, "dev.tsv", *(f"{n}\t{line}" for n, line in zip(labels, lines, strict=True)))
    for name in ("dev.json", "dev.tsv"):
        outcome = PurityOfClusters(data=".", files=name, seeds=2).run(LiteralVectors(), DataFolder(tmp_path))
        assert scores_of(outcome) == {(name, "purity"): 100.0, (name, "mean purity of clusters"): 100.0}
        assert all(score.sample is not None and score.sample.value() == 100.0 for score in outcome.scores)


def test_intervals_are_of_the_figures_they_stand_beside(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    labels, lines = draw.integers(0, 3, 60), literal(draw.normal(size=(60, 4)))
    write(tmp_path, "dev.tsv", *(f"{n}\t{line}" for n, line in zip(labels, lines, strict=True)))
    outcome = PurityOfClusters(data=".", files="dev.tsv", seeds=3).run(LiteralVectors(), DataFolder(tmp_path))
    for score in outcome.scores:
        assert score.sample is not None and score.sample.value() == pytest.approx(score.value)
    assert outcome.scores[0].value != outcome.scores[1].value


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file is called like"):
        PurityOfClusters(data=".").run(LiteralVectors(), DataFolder(tmp_path))
    write(tmp_path, "dev.json", '{"label": 1}')
    with pytest.raises(InputError, match=r"dev\.json, line 1: not a JSON object with label, and sentence or text"):
        PurityOfClusters(data=".").run(LiteralVectors(), DataFolder(tmp_path))
