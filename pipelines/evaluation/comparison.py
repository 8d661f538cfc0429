"""Objectives side by side: the same encoder, data and budget for each row, the same benchmarks for each column."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field, model_validator

from encoder.checkpoint import save_checkpoint
from encoder.models import PretrainedSettings, build_model
from encoder.settings import ComputeType, Settings, did_you_mean, validate_settings
from encoder.training.session import BEST, Trained, train
from encoder.training.trainer import Observer
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from mining.locks import held_folder
from mining.paths import matching
from pipelines.evaluation.benchmark import evaluate
from pipelines.evaluation.claims import Claim
from pipelines.evaluation.dev_score import measure_of
from pipelines.evaluation.finished_rows import (
    ComparedColumn,
    Finished,
    MeanColumn,
    column_scores,
    read_finished,
    with_means,
    write_finished,
)
from pipelines.evaluation.score_names import require_scores
from pipelines.evaluation.setting_choice import best_combination, changed, combinations
from pipelines.evaluation.sources import load_source
from pipelines.evaluation.suite import Entry

_ROW = "row:"


class ComparedRow(Settings):
    """One way to train; or, with `encoder` or `untrained`, an encoder as it is."""

    name: str = Field(description="Its name in the table.")
    change: dict[str, Any] = Field({}, description="Sections of `train` that this row has otherwise.")
    choose: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(
        {},
        description="Values of a setting such as `optimizer.lr`, of which the first seed takes the one with the best "
        "held-out figure; of several settings, one after another.",
    )
    encoder: str | None = Field(None, description="Evaluate this encoder without any training.")
    untrained: bool = Field(False, description="Evaluate the pretrained `model` as it comes, cut at its `max_tokens`.")
    only_start: bool = Field(False, description="Not evaluated: others begin with it, `start: {encoder: row:NAME}`.")


class CompareSettings(Settings):
    """`train` is a training configuration without limits; a row replaces whole sections of it."""

    minutes: float | None = Field(None, gt=0, description="Training time of each row.")
    examples: int | None = Field(None, ge=1, description="Pairs, triples, groups or sentences that each row sees.")
    clock: Literal["wall", "cpu"] = Field("wall", description="What minutes are, see the limits of a training.")
    seeds: int = Field(1, ge=1, description="Times that each row is trained, with other random numbers.")
    train: dict[str, Any] = Field(description="What all rows share, as for `twinlode train`.")
    rows: tuple[ComparedRow, ...] = Field(min_length=1)
    data: str = Field(description="Root of the benchmarks' folders.")
    benchmarks: tuple[Entry, ...] = Field(min_length=1)
    columns: tuple[ComparedColumn, ...] = Field(min_length=1)
    compute_dtype: ComputeType = Field("float32", description="Type that benchmarks encode in.")
    means: tuple[MeanColumn, ...] = Field((), description="Means of columns, as further columns.")
    exclude: tuple[str, ...] = Field((), description="Text files (globs) whose sentences no row is trained on.")
    claims: tuple[Claim, ...] = Field((), description="What the papers say of rows, held against the figures.")

    @property
    def budget(self) -> str:
        return f"{self.examples:,} examples" if self.examples else f"{self.minutes:g} {self.clock} minutes of training"

    @property
    def titles(self) -> list[str]:
        """Of all columns, means last."""
        return [*(column.title for column in self.columns), *(mean.title for mean in self.means)]

    @model_validator(mode="after")
    def _one_budget(self) -> CompareSettings:
        if (self.minutes is None) == (self.examples is None):
            raise ValueError("give every row the same `minutes` or the same `examples`, one of the two")
        return self

    @model_validator(mode="after")
    def _distinct_and_known(self) -> CompareSettings:
        folders = [slug(row.name) for row in self.rows]
        for row, folder in zip(self.rows, folders, strict=True):
            if folders.count(folder) > 1:
                raise ValueError(f"two rows would share the folder {folder}; rename {row.name}")
        labels = [benchmark.label for benchmark in self.benchmarks]
        for column in self.columns:
            if column.benchmark not in labels:
                near = did_you_mean(column.benchmark, labels)
                raise ValueError(f"column {column.title}: no benchmark is called {column.benchmark}{near}")
        for number, mean in enumerate(self.means, len(self.columns)):
            known = self.titles[:number]
            for title in mean.of:
                if title not in known:
                    raise ValueError(
                        f"mean {mean.title}: there is no column {title} before it{did_you_mean(title, known)}"
                    )
        names = [row.name for row in self.rows if not row.only_start]
        for claim in self.claims:
            asked = (claim.row, "row", names), (claim.to, "row", names), (claim.column, "column", self.titles)
            for name, kind, known in asked:
                if name not in known:
                    raise ValueError(f"claim {claim.claim!r}: there is no {kind} {name}{did_you_mean(name, known)}")
        return self


class TrainingPlan(NamedTuple):
    """One training of a row, or a look at an encoder as it is; `variants` are the settings to choose among."""

    row: ComparedRow
    seed: int
    variants: tuple[TrainSettings, ...]
    folder: Path
    identity: str


class ComparisonWatcher(Protocol):
    """Where progress goes."""

    def checking(self, benchmark: str) -> None: ...
    def preparing(self, row: str, groups: int) -> None: ...
    def training(self, row: str, folder: Path) -> Observer: ...
    def evaluating(self, row: str, benchmark: str) -> None: ...
    def finished(self, row: Finished, again: bool) -> None: ...


def slug(name: str) -> str:
    """A row's name as that of a folder."""
    return re.sub(r"[^a-z0-9+]+", "-", name.lower()).strip("-")


def row_settings(
    settings: CompareSettings, row: ComparedRow, out: Path, seed: int = 0, change: Mapping[str, Any] | None = None
) -> TrainSettings:
    """The training configuration of a row, with the values of `change` by their paths; all rows share tokens."""
    limits = {"examples": settings.examples} if settings.examples else {"minutes": settings.minutes}
    tree = settings.train | row.change | {"random_seed": seed}
    for path, value in (change or {}).items():
        tree = changed(tree, path, value)
    tree.setdefault("limits", limits | {"clock": settings.clock})
    data, start = tree.get("data"), tree.get("start")
    if isinstance(data, dict):
        tree["data"] = {"cache": str(out / "data")} | data
    if isinstance(start, dict) and str(start.get("encoder")).startswith(_ROW):
        name = str(start["encoder"]).removeprefix(_ROW)
        if name not in [other.name for other in settings.rows]:
            raise InputError(f"row {row.name}: start.encoder: there is no row {name!r}")
        tree["start"] = start | {"encoder": str(row_folder(out, name, seed) / "best")}
    return validate_settings(TrainSettings, tree, f"row {row.name}")


def row_folder(out: Path, name: str, seed: int) -> Path:
    return out / slug(name) / f"seed-{seed}"


def compare(settings: CompareSettings, out: Path, watch: ComparisonWatcher, only: Sequence[str] = ()) -> list[Finished]:
    """Train and evaluate each row, in order; one that is finished under the same settings is not done again."""
    unknown = [name for name in only if name not in [row.name for row in settings.rows]]
    if unknown:
        raise InputError(f"there is no row {unknown[0]!r}; rows are {', '.join(row.name for row in settings.rows)}")
    plans = [plan for row in settings.rows for plan in _plans(settings, row, out)]  # all mistakes before any work
    excluded_files(settings)
    for evaluation in {repr(one.evaluation): one.evaluation for plan in plans for one in plan.variants}.values():
        measure_of(evaluation)
    for benchmark in settings.benchmarks:
        if not (Path(settings.data) / benchmark.data).is_dir():
            raise InputError(f"{benchmark.label}: there is no folder {Path(settings.data) / benchmark.data}")
    _check_scores(settings, plans, watch, only)
    with held_folder(str(out)):
        found = _run_plans(settings, plans, watch, only)
    return [with_means(done, settings.means) for done in found if not _row(settings, done.name).only_start]


def _check_scores(
    settings: CompareSettings, plans: Sequence[TrainingPlan], watch: ComparisonWatcher, only: Sequence[str]
) -> None:
    """That benchmarks have the scores of their columns; a row that is finished has shown it."""
    finished = [read_finished(plan.folder, plan.identity) for plan in plans]
    waiting = [plan for plan, done in zip(plans, finished, strict=True) if done is None]
    if any(done.figures for done in finished if done) or not any(not only or plan.row.name in only for plan in waiting):
        return
    for benchmark in settings.benchmarks:
        watch.checking(benchmark.label)
        require_scores(settings.columns, benchmark, Path(settings.data))


def _run_plans(
    settings: CompareSettings, plans: Sequence[TrainingPlan], watch: ComparisonWatcher, only: Sequence[str]
) -> list[Finished]:
    found: list[Finished] = []
    for plan in plans:
        done = read_finished(plan.folder, plan.identity)
        again = done is not None
        if done is None and (not only or plan.row.name in only):
            done = _run(settings, plan, _choice(found, plan), watch)
        if done is not None:
            watch.finished(done, again)
            found.append(done)
    return found


def _plans(settings: CompareSettings, row: ComparedRow, out: Path) -> list[TrainingPlan]:
    plans = []
    as_it_is = row.encoder is not None or row.untrained
    for seed in range(1 if as_it_is else settings.seeds):
        variants = tuple(row_settings(settings, row, out, seed, change) for change in combinations(row.choose))
        if row.untrained and not isinstance(variants[0].model, PretrainedSettings):
            raise InputError(f"row {row.name}: only a pretrained model is worth evaluating untrained")
        plans.append(
            TrainingPlan(row, seed, variants, row_folder(out, row.name, seed), identity(settings, row, variants))
        )
    return plans


def _choice(found: Sequence[Finished], plan: TrainingPlan) -> int | None:
    """Which variant the first seed chose, where it is another seed's turn."""
    if len(plan.variants) < 2:
        return 0
    return next((done.chosen for done in found if done.name == plan.row.name and done.seed == 0), None)


def _run(settings: CompareSettings, plan: TrainingPlan, chosen: int | None, watch: ComparisonWatcher) -> Finished:
    name = plan.row.name
    trained: Trained | None = None
    encoder = plan.row.encoder
    if plan.row.untrained:
        encoder = str(plan.folder / BEST)
        save_checkpoint(plan.folder / BEST, build_model(plan.variants[0].model, 0), plan.variants[0], None, {})
    elif encoder is None:
        chosen, trained = _train(plan, chosen, excluded_files(settings), watch)
    columns: dict[str, Any] = {}
    if not plan.row.only_start:
        source = load_source(str(trained.folder if trained else encoder), compute_dtype=settings.compute_dtype)
        for benchmark in settings.benchmarks:
            watch.evaluating(name, benchmark.label)
            result = evaluate(benchmark, source, Path(settings.data))
            columns |= column_scores(settings.columns, benchmark.label, result.outcome.scores)
    position = trained.result.position if trained else None
    done = Finished(
        name,
        plan.seed,
        position.step if position else 0,
        position.pairs if position else 0,
        position.seconds / 60 if position else 0.0,
        trained.result.best if trained else None,
        chosen or 0,
        columns,
    )
    write_finished(plan.folder, plan.identity, done)
    return done


def excluded_files(settings: CompareSettings) -> list[str]:
    """The files of `exclude`; a pattern that fits none is an error."""
    found = {pattern: matching(pattern) for pattern in settings.exclude}
    missing = next((pattern for pattern, paths in found.items() if not paths), None)
    if missing is not None:
        raise InputError(f"exclude {missing}: no such file")
    return [path for paths in found.values() for path in paths]


def _train(
    plan: TrainingPlan, chosen: int | None, exclude: Sequence[str], watch: ComparisonWatcher
) -> tuple[int, Trained]:
    """Train the chosen variant; before there is a choice, some of them, and take the best by its held-out figure."""
    done: dict[int, Trained] = {}

    def held_out(number: int) -> float:
        several = len(plan.variants) > 1
        folder = plan.folder / f"choice-{number}" if several else plan.folder
        name = f"{plan.row.name} (choice {number + 1})" if several else plan.row.name
        done[number] = train(
            plan.variants[number],
            folder,
            partial(watch.training, name),
            exclude=exclude,
            measure=measure_of(plan.variants[number].evaluation),
            report=lambda groups: watch.preparing(name, groups),
            fixed_limits=True,  # one that is made longer is not as one that was to be so long
        )
        return done[number].result.best or 0.0

    if chosen is None:
        chosen = best_combination(plan.row.choose, held_out)
    else:
        held_out(chosen)
    return chosen, done[chosen]


def _row(settings: CompareSettings, name: str) -> ComparedRow:
    return next(row for row in settings.rows if row.name == name)


def identity(settings: CompareSettings, row: ComparedRow, variants: Sequence[TrainSettings]) -> str:
    """Changes with whatever changes a row's figures."""
    benchmarks = [benchmark.model_dump(mode="json") for benchmark in settings.benchmarks]
    columns = [column.model_dump(mode="json") for column in settings.columns]
    starts = [other.model_dump(mode="json") for other in settings.rows if other.only_start]
    plans = [plan.model_dump(mode="json") for plan in variants]
    deciding = [row.encoder, plans, starts, benchmarks, columns, settings.data, settings.exclude]
    if settings.compute_dtype != "float32":
        deciding.append(settings.compute_dtype)
    text = json.dumps(deciding, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
