"""What is known of a trained and evaluated row of a comparison, on disk and summed up over seeds."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from encoder.settings import Settings
from mining.errors import InputError
from mining.files import atomic_text
from pipelines.evaluation.benchmark import Score
from pipelines.evaluation.samples import REPLICAS, ConfidenceInterval, interval_95

SCORES = "scores.json"
_NEAREST = 5  # names to offer for one that is not there


class Column(Settings):
    """One figure of every row."""

    title: str = Field(description="Its title in the table.")
    benchmark: str = Field(description="Label of one of the benchmarks.")
    score: str = Field(description="Name of one of its scores: dataset and metric.")

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of all that it is made of."""
        return (self.score,)


class ComparedColumn(Column):
    """The same, or the difference of two figures of one benchmark."""

    minus: str | None = Field(None, description="Another of its scores, which is taken off.")

    @property
    def scores(self) -> tuple[str, ...]:
        return (self.score,) if self.minus is None else (self.score, self.minus)


class MeanColumn(Settings):
    """The mean of columns, as papers sum up their tasks."""

    title: str = Field(description="Its title in the table.")
    of: tuple[str, ...] = Field(min_length=2, description="Titles of columns, or of means before this one.")


class SampledScore(NamedTuple):
    """A score and, where it is made of items, what it would be with other draws of these, the same for every row."""

    value: float
    replicas: list[float] | None


class Finished(NamedTuple):
    """One seed of a row: how it was trained, and the figure of each column by its title."""

    name: str
    seed: int
    steps: int
    examples: int
    minutes: float
    held_out: float | None
    chosen: int  # number of the variant
    figures: dict[str, SampledScore]


class Summary(NamedTuple):
    """One figure over the seeds of a row."""

    mean: float
    deviation: float | None  # over seeds, where there are several
    replicas: np.ndarray | None  # (draws,) over items and seeds

    @property
    def interval(self) -> ConfidenceInterval | None:
        return None if self.replicas is None else interval_95(self.replicas)


def no_such_score(column: Column, name: str, names: Sequence[str]) -> str:
    """That a column's benchmark has no score of this name, and which of its names come near."""
    near = ", ".join(map(repr, difflib.get_close_matches(name, names, n=_NEAREST, cutoff=0.0)))
    return (
        f"column {column.title}: {column.benchmark} has no score {name!r}; the nearest of its {len(names):,} are {near}"
    )


def column_scores(
    columns: Sequence[ComparedColumn], benchmark: str, scores: Sequence[Score]
) -> dict[str, SampledScore]:
    """The figures of a benchmark's columns; a score that it does not have is an error."""
    by_name = {score.name: score for score in scores}
    found = {}
    for column in columns:
        if column.benchmark != benchmark:
            continue
        for name in column.scores:
            if name not in by_name:
                raise InputError(no_such_score(column, name, list(by_name)))
        parts = [_figure(by_name[name]) for name in column.scores]
        found[column.title] = parts[0] if len(parts) == 1 else _difference(*parts)
    return found


def _figure(score: Score) -> SampledScore:
    return SampledScore(score.value, None if score.sample is None else np.round(score.sample.replicas(), 4).tolist())


def _difference(first: SampledScore, second: SampledScore) -> SampledScore:
    if first.replicas is None or second.replicas is None:
        return SampledScore(first.value - second.value, None)
    return SampledScore(first.value - second.value, np.subtract(first.replicas, second.replicas).tolist())


def with_means(row: Finished, means: Sequence[MeanColumn]) -> Finished:
    """`row` with the means of its figures; those that lack a column are left out."""
    figures = dict(row.figures)
    for mean in means:
        if all(title in figures for title in mean.of):
            figures[mean.title] = _mean({title: figures[title] for title in mean.of})
    return row._replace(figures=figures)


def _mean(figures: dict[str, SampledScore]) -> SampledScore:
    """Draws of each column are put into an order of its own, the same in every row: test sets vary apart."""
    value = float(np.mean([figure.value for figure in figures.values()]))
    drawn = [
        np.random.default_rng(list(title.encode())).permutation(np.asarray(figure.replicas))
        for title, figure in figures.items()
        if figure.replicas is not None
    ]
    return SampledScore(value, np.mean(drawn, axis=0).tolist() if len(drawn) == len(figures) else None)


def summary(rows: Sequence[Finished], name: str, column: str) -> Summary | None:
    """The mean over the seeds of row `name`; draws are over items and, where there are several, over seeds."""
    figures = [row.figures[column] for row in rows if row.name == name and column in row.figures]
    if not figures:
        return None
    values = np.array([figure.value for figure in figures])
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    if any(figure.replicas is None for figure in figures):
        return Summary(float(values.mean()), deviation, None)
    replicas = np.array([figure.replicas for figure in figures])  # (seeds, draws)
    drawn = np.random.default_rng(list(name.encode())).integers(0, len(figures), (REPLICAS, len(figures)))
    return Summary(float(values.mean()), deviation, replicas.T[np.arange(REPLICAS)[:, None], drawn].mean(axis=1))


def read_finished(folder: Path, expected: str) -> Finished | None:
    """What is in `folder`, unless it is unfinished or was made with other settings."""
    path = folder / SCORES
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["identity"] != expected:
            return None
        row = record["row"]
        return Finished(**row | {"figures": {title: SampledScore(*figure) for title, figure in row["figures"].items()}})
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: damaged; delete it to evaluate the row again") from None


def write_finished(folder: Path, made_with: str, done: Finished) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text(str(folder / SCORES)) as stream:
        json.dump({"identity": made_with, "row": done._asdict()}, stream, ensure_ascii=False)
