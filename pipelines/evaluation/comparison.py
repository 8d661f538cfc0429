"""Objectives side by side: the same encoder, data and minutes for each row, the same benchmarks for each column."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import Field, model_validator

from encoder.settings import Settings, validate_settings
from encoder.training.session import train
from encoder.training.settings import TrainSettings
from encoder.training.trainer import Observer
from mining.errors import InputError
from mining.files import atomic_text
from mining.locks import held_folder
from pipelines.evaluation.benchmark import evaluate
from pipelines.evaluation.result_tables import shown
from pipelines.evaluation.sources import load_source
from pipelines.evaluation.suite import Entry

SCORES = "scores.json"


class Row(Settings):
    name: str = Field(description="Its name in the table.")
    change: dict[str, Any] = Field(description="Sections of `train` that this row has otherwise.")


class Column(Settings):
    title: str = Field(description="Its title in the table.")
    benchmark: str = Field(description="Label of one of the benchmarks.")
    score: str = Field(description="Name of one of its scores: dataset and metric.")


class CompareSettings(Settings):
    """`train` is a training configuration without limits; a row replaces whole sections of it."""

    minutes: float = Field(gt=0, description="Training time of each row.")
    clock: Literal["wall", "cpu"] = Field("wall", description="What minutes are, see the limits of a training.")
    train: dict[str, Any] = Field(description="What all rows share, as for `twinlode train`.")
    rows: tuple[Row, ...] = Field(min_length=1)
    data: str = Field(description="Root of the benchmarks' folders.")
    benchmarks: tuple[Entry, ...] = Field(min_length=1)
    columns: tuple[Column, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct_and_known(self) -> CompareSettings:
        folders = [slug(row.name) for row in self.rows]
        for row, folder in zip(self.rows, folders, strict=True):
            if folders.count(folder) > 1:
                raise ValueError(f"two rows would share the folder {folder}; rename {row.name}")
        labels = [benchmark.label for benchmark in self.benchmarks]
        for column in self.columns:
            if column.benchmark not in labels:
                raise ValueError(f"column {column.title}: no benchmark is called {column.benchmark}: {labels}")
        return self


class Finished(NamedTuple):
    """What is known of a row: how it was trained, and every score."""

    name: str
    steps: int
    examples: int
    minutes: float
    held_out: float | None
    scores: dict[str, dict[str, float]]  # by benchmark and name of the score


class Watcher(Protocol):
    """Where progress goes."""

    def preparing(self, row: str, groups: int) -> None: ...
    def training(self, row: str, folder: Path) -> Observer: ...
    def evaluating(self, row: str, benchmark: str) -> None: ...
    def finished(self, row: Finished, again: bool) -> None: ...


def slug(name: str) -> str:
    """A row's name as that of a folder."""
    return re.sub(r"[^a-z0-9+]+", "-", name.lower()).strip("-")


def row_settings(settings: CompareSettings, row: Row, cache: Path) -> TrainSettings:
    """The training configuration of a row; tokens are shared by all rows."""
    tree = settings.train | row.change | {"limits": {"minutes": settings.minutes, "clock": settings.clock}}
    data = tree.get("data")
    if isinstance(data, dict):
        tree["data"] = {"cache": str(cache)} | data
    return validate_settings(TrainSettings, tree, f"row {row.name}")


def compare(settings: CompareSettings, out: Path, watch: Watcher, only: Sequence[str] = ()) -> list[Finished]:
    """Train and evaluate each row, in order; a row that is finished under the same settings is not done again."""
    unknown = [name for name in only if name not in [row.name for row in settings.rows]]
    if unknown:
        raise InputError(f"there is no row {unknown[0]!r}; rows are {', '.join(row.name for row in settings.rows)}")
    plans = [(row, row_settings(settings, row, out / "data")) for row in settings.rows]  # all mistakes before any work
    for benchmark in settings.benchmarks:
        if not (Path(settings.data) / benchmark.data).is_dir():
            raise InputError(f"{benchmark.label}: there is no folder {Path(settings.data) / benchmark.data}")
    with held_folder(str(out)):
        return _run_rows(settings, plans, out, watch, only)


def _run_rows(
    settings: CompareSettings, plans: list[tuple[Row, TrainSettings]], out: Path, watch: Watcher, only: Sequence[str]
) -> list[Finished]:
    found = []
    for row, plan in plans:
        folder = out / slug(row.name)
        done = read_row(folder, identity(settings, plan))
        if done is None and (not only or row.name in only):
            done = _run(settings, row.name, plan, folder, watch)
            watch.finished(done, False)
        elif done is not None:
            watch.finished(done, True)
        if done is not None:
            found.append(done)
    return found


def _run(settings: CompareSettings, name: str, plan: TrainSettings, folder: Path, watch: Watcher) -> Finished:
    def begin() -> Observer:
        return watch.training(name, folder)

    trained = train(plan, folder, begin, report=lambda groups: watch.preparing(name, groups))
    source = load_source(str(trained.folder))
    scores: dict[str, dict[str, float]] = {}
    for benchmark in settings.benchmarks:
        watch.evaluating(name, benchmark.label)
        result = evaluate(benchmark, source, Path(settings.data))
        scores[benchmark.label] = {score.name: score.value for score in result.outcome.scores}
        _require_columns(settings, benchmark.label, scores[benchmark.label])
    position = trained.result.position
    done = Finished(name, position.step, position.pairs, position.seconds / 60, trained.result.best, scores)
    write_row(folder, identity(settings, plan), done)
    return done


def _require_columns(settings: CompareSettings, benchmark: str, scores: dict[str, float]) -> None:
    for column in settings.columns:
        if column.benchmark == benchmark and column.score not in scores:
            means = [name for name in scores if name.startswith("mean")] or list(scores)
            raise InputError(f"column {column.title}: {benchmark} has no score {column.score!r}; it has {means[:12]}")


def identity(settings: CompareSettings, plan: TrainSettings) -> str:
    """Changes with whatever changes a row's figures."""
    benchmarks = [benchmark.model_dump(mode="json") for benchmark in settings.benchmarks]
    text = json.dumps([plan.model_dump(mode="json"), benchmarks, settings.data], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_row(folder: Path, expected: str) -> Finished | None:
    """The row in `folder`, unless it is unfinished or was made with other settings."""
    path = folder / SCORES
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Finished(**record["row"]) if record["identity"] == expected else None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: damaged; delete it to evaluate the row again") from None


def write_row(folder: Path, made_with: str, done: Finished) -> None:
    with atomic_text(str(folder / SCORES)) as stream:
        json.dump({"identity": made_with, "row": done._asdict()}, stream, indent=1, ensure_ascii=False)


def table(settings: CompareSettings, rows: Sequence[Finished]) -> list[list[str]]:
    """Header and one line a row; a dash where a score is missing."""
    lines = [["", *(column.title for column in settings.columns), "steps", "examples"]]
    for row in rows:
        cells = [row.scores.get(column.benchmark, {}).get(column.score) for column in settings.columns]
        figures = ["-" if value is None else shown(value) for value in cells]
        lines.append([row.name, *figures, f"{row.steps:,}", f"{row.examples:,}"])
    return lines


def report_files(out: Path) -> tuple[Path, Path]:
    return out / "compare.json", out / "compare.md"


def write_reports(settings: CompareSettings, rows: Sequence[Finished], out: Path) -> tuple[Path, Path]:
    """`compare.json` with every score, `compare.md` with the table."""
    lines = table(settings, rows)
    lines.insert(1, ["---"] * len(lines[0]))
    markdown = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    budget = f"{settings.minutes:g} {settings.clock} minutes of training"
    intro = f"Each row: {budget}; {len(rows)} of {len(settings.rows)} rows finished."
    paths = report_files(out)
    with atomic_text(str(paths[0])) as stream:
        record = {"settings": settings.model_dump(mode="json"), "rows": [row._asdict() for row in rows]}
        json.dump(record, stream, indent=1, ensure_ascii=False)
    with atomic_text(str(paths[1])) as stream:
        stream.write(f"{intro}\n\n{markdown}\n")
    return paths
