"""A list of benchmarks for one encoder or several, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from encoder.settings import Settings
from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, BenchmarkResult, Score, averaged, evaluate
from pipelines.evaluation.benchmark_table import BENCHMARKS
from pipelines.evaluation.samples import ConfidenceInterval, Difference, compare, interval_95
from pipelines.evaluation.sources import VectorSource

if TYPE_CHECKING:
    Entry = Benchmark
else:
    Entry = Annotated[reduce(or_, (entry.load() for entry in BENCHMARKS.values())), Field(discriminator="benchmark")]


class OverallPart(Settings):
    """One score of an overall one."""

    benchmark: str = Field(description="Label of one of the benchmarks.")
    score: str = Field(description="Name of one of its scores: dataset and metric.")


class Overall(Settings):
    """The mean over subtasks, each the mean of its parts, as VMSST's Score is of six."""

    title: str = Field(description="Its name in the table.")
    subtasks: tuple[tuple[OverallPart, ...], ...] = Field(
        min_length=1, description="Lists of scores; each list counts as one."
    )


class Suite(Settings):
    """The benchmarks to run, in this order, and what to sum up of them."""

    benchmarks: tuple[Entry, ...] = Field(min_length=1, description="What is run, in this order.")
    overall: tuple[Overall, ...] = Field((), description="Means over several of their scores.")

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        """Tables and files of curves are called by the label."""
        labels = [benchmark.label for benchmark in self.benchmarks]
        if repeated := next((label for label in labels if labels.count(label) > 1), None):
            raise ValueError(f"{repeated} is there twice; give each a title of its own")
        for overall in self.overall:
            for part in (part for subtask in overall.subtasks for part in subtask):
                if part.benchmark not in labels:
                    raise ValueError(f"{overall.title}: no benchmark is called {part.benchmark}: {labels}")
        return self


class Measured(NamedTuple):
    """A headline score of one encoder with its 95% bootstrap interval, where the score is made of items."""

    score: Score
    interval: ConfidenceInterval | None


@dataclass(frozen=True)
class HeadlineScores:
    """One headline score of all encoders; differences are to the first encoder."""

    benchmark: str
    name: str
    measured: tuple[Measured, ...]
    differences: tuple[Difference | None, ...]


@dataclass(frozen=True)
class Report:
    encoders: tuple[str, ...]
    results: tuple[tuple[BenchmarkResult, ...], ...]  # (benchmarks, encoders)
    lines: tuple[HeadlineScores, ...]
    mistake: InputError | None = None  # what ended the suite early; the results are those before it


Progress = Callable[[str, str], None]  # benchmark, encoder


def run_suite(
    suite: Suite, sources: Sequence[VectorSource], root: Path, progress: Progress = lambda benchmark, encoder: None
) -> Report:
    """Run every benchmark with every encoder; the first mistake in the data ends it, and what was found stays."""
    for benchmark in suite.benchmarks:
        if not (root / benchmark.data).is_dir():
            raise InputError(f"{benchmark.label}: there is no folder {root / benchmark.data}")
    results: list[tuple[BenchmarkResult, ...]] = []
    lines: list[HeadlineScores] = []
    mistake: InputError | None = None
    try:
        for benchmark in suite.benchmarks:
            row: list[BenchmarkResult] = []
            for source in sources:
                progress(benchmark.label, source.name)
                row.append(evaluate(benchmark, source, root))
            results.append(tuple(row))
            lines += headline_lines(row)
        for overall in suite.overall:
            summed = [overall_score(overall, [row[n] for row in results]) for n in range(len(sources))]
            lines.append(_line("overall", overall.title, summed))
    except InputError as error:
        if not results:
            raise
        mistake = error
    return Report(tuple(source.name for source in sources), tuple(results), tuple(lines), mistake)


def overall_score(overall: Overall, results: Sequence[BenchmarkResult]) -> Score:
    """The overall score of one encoder; a part that no benchmark gave is an error."""
    scores = {(result.benchmark, score.name): score for result in results for score in result.outcome.scores}
    means = []
    for subtask in overall.subtasks:
        missing = [part for part in subtask if (part.benchmark, part.score) not in scores]
        if missing:
            raise InputError(f"{overall.title}: {missing[0].benchmark} has no score {missing[0].score!r}")
        means.append(averaged("", [scores[part.benchmark, part.score] for part in subtask]))
    return averaged(overall.title, means)


def headline_lines(results: Sequence[BenchmarkResult]) -> list[HeadlineScores]:
    """The headline scores that all encoders have, with intervals, and comparisons with the first encoder."""
    tables = [{s.name: s for s in result.outcome.scores if s.headline} for result in results]
    lines = []
    for name in tables[0]:
        scores = [table[name] for table in tables if name in table]
        if len(scores) == len(tables):
            lines.append(_line(results[0].benchmark, name, scores))
    return lines


def _line(benchmark: str, name: str, scores: Sequence[Score]) -> HeadlineScores:
    replicas = [score.sample.replicas() if score.sample is not None else None for score in scores]
    measured = tuple(
        Measured(score, None if drawn is None else interval_95(drawn))
        for score, drawn in zip(scores, replicas, strict=True)
    )
    differences = tuple(
        _difference(scores[0], score, replicas[0], drawn) for score, drawn in zip(scores, replicas, strict=True)
    )
    return HeadlineScores(benchmark, name, measured, (None, *differences[1:]))


def _difference(
    first: Score, second: Score, drawn_first: NDArray[np.float64] | None, drawn: NDArray[np.float64] | None
) -> Difference | None:
    """None where the two were not measured on the same items, so that nothing can be paired."""
    if first.sample is None or second.sample is None or drawn_first is None or drawn is None:
        return None
    if first.sample.sizes() != second.sample.sizes():
        return None
    return compare(drawn_first, drawn, second.value - first.value)
