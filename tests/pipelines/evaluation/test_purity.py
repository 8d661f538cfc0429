"""Clusters and their purity."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mining.errors import InputError
from pipelines.evaluation.clustering import k_means
from pipelines.evaluation.data import DataFolder
from pipelines.evaluation.purity import PurityOfClusters
from tests.pipelines.evaluation.toys import LiteralVectors, literal, scores_of, write


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_inertia_is_that_of_scikit_learn(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(300, 5)).astype(np.float32)
    vectors[:100] += 3
    theirs = KMeans(6, n_init=10, random_state=seed).fit(vectors).inertia_
    found = k_means(vectors, 6, seed)
    assert found.inertia == pytest.approx(theirs, rel=0.01)
    assert found.clusters.shape == (300,) and set(found.clusters) == set(range(6))


def test_clusters_of_repeated_points() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = k_means(vectors, 3, 0)
    assert found.inertia == pytest.approx(0, abs=1e-6)
    assert len(set(found.clusters[::4])) == 3
    assert k_means(np.ones((4, 2), np.float32), 2, 0).inertia == pytest.approx(0, abs=1e-6)


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
