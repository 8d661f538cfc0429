"""Hubness (Radovanovic et al. 2010): do a few sentences crowd the neighbourhoods of all others?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.aligned import read_nway
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.comparable import SPLITS, find_pairs, has_split, read_comparable, wanted_pairs
from pipelines.evaluation.measures import hubness, k_occurrence, skewness
from pipelines.evaluation.samples import TestItems
from pipelines.evaluation.sources import VectorSource

METRICS = ("skewness of N_k", "hubs, %", "places of hubs, %", "antihubs, %")


class HubnessOfSpace(Benchmark):
    """Of target sentences as neighbours of source sentences, in comparable corpora or n-way aligned `files`."""

    benchmark: Literal["hubness"] = "hubness"
    files: str | None = Field(
        None, description="Line-aligned files, `{lang}` in their name, or one TSV with a header of languages."
    )
    pairs: tuple[str, ...] = Field((), description="Of comparable corpora, such as de-en; all if empty.")
    pivot: str = Field("en", description="Their target language.")
    k: int = Field(10, ge=1, description="Neighbours of each sentence.")
    hub: float = Field(2.0, gt=0, description="A hub is among the neighbours of more than this times k sentences.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        choices = [
            Choice("k", str(self.k)),
            Choice("hub", f"N_k > {self.hub:g} k"),
        ]
        scores: list[Score] = []
        for name, queries, others in self._sides(data):
            graph = graph_of(source.vectors(queries), source.vectors(others), self.k)
            for ids, size, label in (
                (graph.forward.ids, len(others), f"{name} forward"),
                (graph.backward.ids, len(queries), f"{name} backward"),
            ):
                scores += _scores(label, k_occurrence(ids, size), self.k, self.hub)
        for metric in METRICS:
            group = [score for score in scores if score.metric == metric]
            scores.append(averaged(f"mean of {len(group)}", group, headline=metric == METRICS[0]))
        return Outcome(scores, choices)

    def _sides(self, data: DataFolder) -> Iterator[tuple[str, Texts, Texts]]:
        if self.files is not None:
            texts = read_nway(data, self.files)
            if self.pivot not in texts or len(texts) < 2:
                raise InputError(
                    f"{data.root}: the pivot {self.pivot} and another language are needed; there are {', '.join(texts)}"
                )
            pivot = texts.pop(self.pivot)
            for code, other in texts.items():
                yield f"{code}-{self.pivot}", other, pivot
            return
        for pair in wanted_pairs(data, self.pairs, find_pairs(data)):
            corpora = read_comparable(data, pair, next(s for s in SPLITS if has_split(data, pair, s)))
            yield pair, corpora.source, corpora.target


def _scores(name: str, occurrence: np.ndarray, k: int, factor: float) -> list[Score]:
    found = hubness(occurrence, k, factor)
    sample = TestItems(occurrence, skewness)
    return [
        Score(name, METRICS[0], found.skewness, sample),
        *(Score(name, metric, 100 * share) for metric, share in zip(METRICS[1:], found[1:], strict=True)),
    ]
