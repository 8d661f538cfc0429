"""A plan as tables: what each stage takes, and what that comes to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from mining.errors import InputError
from mining.files import atomic_text
from mining.language_id import detect
from mining.paths import exists, expand
from pipelines.datasets.manifest import MANIFEST, join, open_dataset
from pipelines.datasets.sentences import read_shard
from pipelines.planning.calibrated_machine import Calibrated, calibrate_machine
from pipelines.planning.cost_model import CostPlan, predict
from pipelines.planning.gpu_rates import GpuRates
from pipelines.planning.plan_settings import PlanSettings
from pipelines.planning.sample_runs import made_up_lines, sampled_lines
from pipelines.planning.word_growth import WINDOW
from pipelines.runners.console_table import show_table


class PlannedSide(NamedTuple):
    """The lines of one side: how many, and some of them; no language where none is detected in a mine, either.

    They are made up, or in a language that the detector does not know, which a mine is told to assume.
    """

    lines: int
    sample: list[str]
    lang: str | None
    windows: list[list[str]]  # of consecutive lines


class Bill(NamedTuple):
    plan: CostPlan
    calibrated: Calibrated

    def require_budget(self, settings: PlanSettings) -> None:
        money = self.plan.money(settings.prices)
        if settings.budget is not None and money > settings.budget:
            raise InputError(
                f"this mine would cost about {price(money)}, more than the budget of {price(settings.budget)}"
            )


def make_bill(source: str, target: str, settings: PlanSettings) -> Bill:
    """Calibrate this machine on the text, and predict the mine of all of it."""
    return bill_of(
        [planned_side(given, settings.sample, number) for number, given in enumerate((source, target))], settings
    )


def bill_of(sides: Sequence[PlannedSide], settings: PlanSettings) -> Bill:
    texts, langs = [side.sample for side in sides], [side.lang for side in sides]
    found = calibrate_machine(settings, texts, langs, [side.windows for side in sides])
    free = float(shutil.disk_usage(".").free)
    return Bill(predict((sides[0].lines, sides[1].lines), found, settings, free), found)


def planned_side(given: str, sample: int, seed: int) -> PlannedSide:
    """A count of lines, a sentences dataset, or text."""
    if given.replace("_", "").replace(",", "").isdigit():
        count = int(given.replace("_", "").replace(",", ""))
        if not count:
            raise InputError("there is nothing to plan for 0 lines")
        texts = made_up_lines(sample, seed)
        return PlannedSide(count, texts, None, [texts])
    if exists(join(given, MANIFEST)):
        dataset = open_dataset(given, "sentences")
        texts = []
        for shard in dataset.shards:
            texts += read_shard(dataset.shard_url(shard), ["text"])["text"][: sample - len(texts)].to_pylist()
            if len(texts) >= sample:
                break
        return PlannedSide(dataset.rows, texts, _language(texts), [texts[:WINDOW]])
    found = sampled_lines(expand([given]), sample)
    if not found.texts:
        raise InputError(f"{given}: there is no text in it")
    return PlannedSide(found.lines, found.texts, _language(found.texts), found.windows)


def _language(texts: list[str]) -> str | None:
    found = detect(texts[:500])
    return found.language if found.sure else None


def show_bill(bill: Bill, settings: PlanSettings) -> None:
    plan, console = bill.plan, Console()
    header = ["stage", "core-hours", "GPU-hours", "read", "written", "shuffled", "files", "memory", "hours"]
    rows = [
        [
            stage.stage,
            f"{stage.core_hours:,.3g}",
            f"{stage.gpu_hours:,.3g}",
            *(size(value) for value in (stage.read, stage.written, stage.shuffled)),
            f"{stage.objects:,.0f}",
            size(stage.memory),
            f"{stage.hours(settings.workers, settings.gpu.count):,.3g}",
        ]
        for stage in plan.stages
    ]
    total = [
        "all",
        *(f"{sum(getattr(stage, name) for stage in plan.stages):,.3g}" for name in ("core_hours", "gpu_hours")),
        *(size(sum(getattr(stage, name) for stage in plan.stages)) for name in ("read", "written", "shuffled")),
        f"{sum(stage.objects for stage in plan.stages):,.0f}",
        size(max(stage.memory for stage in plan.stages)),
        f"{plan.hours(settings.workers, settings.gpu.count):,.3g}",
    ]
    title = f"{plan.lines[0]:,} and {plan.lines[1]:,} lines, {plan.search} search, {settings.workers} cores"
    show_table([header, *rows, total], console, title, end=1)
    if plan.gpu is not None:
        console.print(_gpu_line(plan.gpu, settings), highlight=False, soft_wrap=True)
    limit = plan.first_limit
    verb = "breaks first" if limit.share > 1 else "is nearest"
    console.print(f"money, at the prices of the settings: {price(plan.money(settings.prices))}", highlight=False)
    told = f"limit that {verb}: {limit.name}, {limit.share:,.2g} times what there is ({limit.advice})"
    console.print(told, highlight=False, soft_wrap=True)


def _gpu_line(gpu: GpuRates, settings: PlanSettings) -> str:
    return (
        f"GPU: {settings.gpu.count} x {gpu.name} at {gpu.price:,.2f} an hour, rates {gpu.basis}: "
        f"{gpu.sentences:,.3g} sentences and {gpu.comparisons:,.3g} comparisons a second"
    )


def bill_record(bill: Bill, settings: PlanSettings) -> dict[str, Any]:
    """The plan for programs: hours, bytes, files, money, and every limit."""
    plan = bill.plan
    return {
        "lines": plan.lines,
        "search": plan.search,
        "stages": [
            stage._asdict() | {"hours": stage.hours(settings.workers, settings.gpu.count)} for stage in plan.stages
        ],
        "gpu": plan.gpu._asdict() if plan.gpu is not None else None,
        "hours": plan.hours(settings.workers, settings.gpu.count),
        "money": plan.money(settings.prices),
        "limits": [limit._asdict() for limit in plan.limits],
        "first_limit": plan.first_limit.name,
        "settings": settings.model_dump(mode="json"),
    }


def write_bill(path: Path, bill: Bill, settings: PlanSettings) -> None:
    with atomic_text(str(path)) as stream:
        json.dump(bill_record(bill, settings), stream, indent=2)


def price(value: float) -> str:
    """Money to two places, or to two figures where that would be next to nothing."""
    return f"{value:,.2f}" if not 0 < value < 0.1 else f"{value:.2g}"


def size(value: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} PB"
