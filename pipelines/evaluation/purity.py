"""Purity of k-means clusters (mSimCSE section 4.5, on Tnews): as many clusters as there are labels."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score
from pipelines.evaluation.benchmark_files import DataFolder, plain
from pipelines.evaluation.classify import unit_rows
from pipelines.evaluation.labelled import read_labelled
from pipelines.evaluation.measures import purity
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource


class PurityOfClusters(Benchmark):
    """`label TAB text`, or CLUE's JSON lines with `label` and `sentence`."""

    benchmark: Literal["purity"] = "purity"
    files: str = Field("dev.json", description="Texts with labels.")
    language: str = Field("zh", description="Their language.")
    seeds: int = Field(5, ge=1, description="Times to cluster.")
    tries: int = Field(10, ge=1, description="Starts of k-means, of which the best is taken.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        names = data.matching(self.files)
        if not names:
            raise InputError(f"{data.root}: no file is called like {self.files!r}")
        scores: list[Score] = []
        for name in names:
            scores += self._file(source, data, name)
        choices = [
            Choice("clusters", "as many as labels"),
            Choice("k-means", f"k-means++, best inertia of {self.tries} tries, mean of {self.seeds} seeds"),
            Choice("vectors", "normalized to length 1"),
            Choice("mean of clusters", "what mSimCSE reports; purity is the usual share of all items"),
        ]
        return Outcome(scores, choices)

    def _file(self, source: VectorSource, data: DataFolder, name: str) -> list[Score]:
        from sklearn.cluster import KMeans  # takes a second to import

        labelled = read_labelled(data, name, self.language)
        labels = np.unique(labelled.labels, return_inverse=True)[1]
        count = int(labels.max()) + 1
        vectors = unit_rows(source.vectors(labelled.texts))
        found = [KMeans(count, n_init=self.tries, random_state=seed).fit_predict(vectors) for seed in range(self.seeds)]
        measured = [purity(labels, clusters) for clusters in found]
        hits = np.stack([_in_majority(labels, clusters) for clusters in found], axis=1)
        overall, mean = (np.array(values) * 100 for values in zip(*measured, strict=True))
        items = np.stack([labels, *found], axis=1)  # (texts, 1 + seeds)
        label = plain(name)
        return [
            Score(label, "purity", overall.mean(), TestItems(hits, mean_percent), overall.std(), headline=True),
            Score(
                label,
                "mean purity of clusters",
                mean.mean(),
                TestItems(items, _mean_of_clusters),
                mean.std(),
                headline=True,
            ),
        ]


def _mean_of_clusters(items: np.ndarray) -> float:
    """Percent, of the columns label and cluster with each seed."""
    return 100 * float(np.mean([purity(items[:, 0], clusters).mean_of_clusters for clusters in items[:, 1:].T]))


def _in_majority(labels: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """For each item whether it is of its cluster's majority; purity is the mean of these."""
    table = np.zeros((clusters.max() + 1, labels.max() + 1), np.int64)
    np.add.at(table, (clusters, labels), 1)
    return table.argmax(axis=1)[clusters] == labels
