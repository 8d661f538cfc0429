"""What every benchmark is: settings that run on a source of vectors and a folder, and report how it was done."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from encoder.settings import Settings
from mining.knn import knn_graph
from mining.neighbours import KnnGraph
from mining.vectors import from_array
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.samples import Average, TestItems
from pipelines.evaluation.sources import VectorSource


@dataclass(frozen=True)
class Score:
    """One figure, in the unit of the papers: percent, or correlation times 100."""

    dataset: str
    metric: str
    value: float
    sample: TestItems | Average | None = None
    deviation: float | None = None  # standard deviation over seeds
    headline: bool = False

    @property
    def name(self) -> str:
        return f"{self.dataset} {self.metric}"


class Choice(NamedTuple):
    """One thing that the protocol leaves open or that peers do differently, and what was done here."""

    name: str
    value: str


class Attachment(NamedTuple):
    """A table that goes into a file of its own, such as a precision-recall curve."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


@dataclass
class Outcome:
    """What a benchmark found."""

    scores: list[Score]
    choices: list[Choice] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


@dataclass(frozen=True)
class HowDone:
    """All that decides the figures."""

    settings: dict[str, Any]
    choices: list[Choice]
    encoder: str
    encoder_fingerprint: str
    truncation: str
    data: str
    data_hash: str
    seconds: float


@dataclass(frozen=True)
class BenchmarkResult:
    benchmark: str
    outcome: Outcome
    how: HowDone


class Benchmark(Settings):
    """Settings of one benchmark; `benchmark` names which, in each subclass."""

    data: str = Field(description="Folder of the benchmark's files; in a suite relative to its --data.")
    title: str | None = Field(None, description="What tables call it, where one suite has it twice.")

    @abstractmethod
    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        """Score the vectors of `source`; bad data is an `InputError`."""

    @property
    def label(self) -> str:
        return self.title or str(getattr(self, "benchmark", ""))


def evaluate(benchmark: Benchmark, source: VectorSource, root: Path = Path()) -> BenchmarkResult:
    """Run one benchmark and write down how it was done."""
    begin = time.perf_counter()
    inside = PurePosixPath(benchmark.data).as_posix()
    data = DataFolder(root / benchmark.data, "" if inside == "." else f"{inside}/")
    outcome = benchmark.run(source, data)
    how = HowDone(
        settings=benchmark.model_dump(mode="json"),
        choices=outcome.choices,
        encoder=source.name,
        encoder_fingerprint=source.fingerprint,
        truncation=source.truncation,
        data=str(data.root),
        data_hash=data.digest(),
        seconds=time.perf_counter() - begin,
    )
    return BenchmarkResult(benchmark.label, outcome, how)


def graph_of(source: np.ndarray, target: np.ndarray, k: int) -> KnnGraph:
    """The exact cosine neighbours of two arrays of vectors, both ways."""
    return knn_graph(from_array(source, "the source vectors"), from_array(target, "the target vectors"), k)


def averaged(dataset: str, scores: Sequence[Score], *, headline: bool = False) -> Score:
    """The mean of scores of one metric."""
    samples = tuple(score.sample for score in scores if score.sample is not None)
    return Score(
        dataset,
        scores[0].metric,
        float(np.mean([score.value for score in scores])),
        Average(samples) if len(samples) == len(scores) else None,
        headline=headline,
    )
