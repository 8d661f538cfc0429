"""Retrieval among many candidates (EMS section 5.3), and LASER's xsim on n-way aligned files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from mining.margin import Margin, margin_scores
from mining.neighbours import KnnGraph
from mining.top_k import MISSING
from pipelines.evaluation.aligned import Queries, queries_of_gold, read_nway, sampled_queries
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.comparable import SPLITS, find_pairs, has_split, read_comparable
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource

_PARALLEL = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]+)?-[A-Za-z]{2,3}(_[A-Za-z]+)?\.")


class CrossLingualRetrieval(Benchmark):
    """Queries among candidates sampled from every `xx-yy*.tsv` or `.txt` of a folder, or the gold of BUCC's corpora."""

    benchmark: Literal["retrieval"] = "retrieval"
    queries: int = Field(2000, ge=1, description="Most pairs that are asked for.")
    candidates: int = Field(200_000, ge=2, description="Most sentences that they are looked for among.")
    random_seed: int = Field(0, description="Of whatever is drawn.")
    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        outcome = Outcome(
            [], [Choice("k", str(self.k)), Choice("random seed", str(self.random_seed)), Choice("margin", Margin.ratio)]
        )
        outcome.choices.append(Choice("neighbourhood of a candidate", "the queries"))
        for found in self._sets(data):
            sizes = f"{len(found.queries):,} queries in {len(found.candidates):,}"
            outcome.choices.append(Choice(found.name, sizes))
            graph = graph_of(source.vectors(found.queries), source.vectors(found.candidates), self.k)
            for label, margin in (("P@1 margin", Margin.ratio), ("P@1 cosine", Margin.absolute)):
                sample = TestItems((best_by_margin(graph, margin) == found.gold)[:, None], mean_percent)
                outcome.scores.append(Score(found.name, label, sample.value(), sample))
        return _with_means(outcome)

    def _sets(self, data: DataFolder) -> Iterator[Queries]:
        files = [name for ending in ("tsv", "txt") for name in data.matching(f"*-*.{ending}")]
        files = [name for name in files if is_parallel_name(name)]
        for name in files:
            path = data.root / name
            found = sampled_queries(path, data.named(name), self.queries, self.candidates, self.random_seed)
            data.digests[data.named(name)] = (
                f"{found.queries.digest} {found.candidates.digest}"  # of the sample, not gigabytes
            )
            yield found
        if files:
            return
        for pair in find_pairs(data, "; or parallel files such as de-en.tsv or en-de.txt.gz, `source TAB target`"):
            split = next(split for split in SPLITS if has_split(data, pair, split))
            yield queries_of_gold(read_comparable(data, pair, split), self.queries, self.random_seed)


class Xsim(Benchmark):
    """Error rate of the best margin among k neighbours, every language against the pivot; LASER's is `to` the pivot."""

    benchmark: Literal["xsim"] = "xsim"
    files: str = Field(
        "{lang}.txt", description="Line-aligned files, `{lang}` in their name, or one TSV with a header of languages."
    )
    pivot: str = Field("en", description="The language that all others are compared with.")
    languages: tuple[str, ...] = Field((), description="The others; all that are there if empty.")
    margin: Margin = Field(Margin.ratio, description="How a cosine is compared with those of the neighbours.")
    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        texts = read_nway(data, self.files, (self.pivot, *self.languages) if self.languages else ())
        if self.pivot not in texts:
            raise InputError(
                f"{data.root}: no file like {self.files!r} for the pivot {self.pivot}; there are {', '.join(texts)}"
            )
        if len(texts) < 2:
            raise InputError(f"{data.root}: only {self.pivot} is there; xsim needs another language")
        outcome = Outcome([], [Choice("k", str(self.k)), Choice("margin", self.margin)])
        pivot = texts.pop(self.pivot)
        for code, other in texts.items():
            graph = graph_of(source.vectors(other), source.vectors(pivot), self.k)
            rows = np.arange(len(pivot))
            back = KnnGraph(graph.backward, graph.forward)
            wrong = np.stack([best_by_margin(g, self.margin) != rows for g in (graph, back)], axis=1)
            ways = {f"to {self.pivot}": wrong[:, :1], f"from {self.pivot}": wrong[:, 1:], "both ways": wrong}
            for way, part in ways.items():
                sample = TestItems(part, mean_percent)
                outcome.scores.append(Score(f"{code}-{self.pivot}", f"xsim error {way}", sample.value(), sample))
        return _with_means(outcome)


def is_parallel_name(name: str) -> bool:
    """Whether a file of parallel text is called by its languages, such as de-en.tsv."""
    return _PARALLEL.match(name) is not None


def best_by_margin(graph: KnnGraph, margin: Margin) -> np.ndarray:
    """For each row of the forward side the neighbour of the highest margin, the nearer on ties, MISSING without any."""
    exists = graph.forward.ids != MISSING
    means = graph.backward.means()
    others = means[np.where(exists, graph.forward.ids, 0)]
    scores = margin_scores(graph.forward.scores, graph.forward.means()[:, None], others, margin)
    best = np.where(exists, scores, -np.inf).argmax(axis=1)
    return np.take_along_axis(graph.forward.ids, best[:, None], 1)[:, 0]


def _with_means(outcome: Outcome) -> Outcome:
    for metric in dict.fromkeys(score.metric for score in outcome.scores):
        group = [score for score in outcome.scores if score.metric == metric]
        outcome.scores.append(averaged(f"mean of {len(group)}", group, headline=True))
    return outcome
