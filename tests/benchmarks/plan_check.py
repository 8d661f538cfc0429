"""What `twinlode plan` predicts beside what a mine then takes, stage by stage.

Real text, see `bench_memory`; each mine is one process, whose files, spooled bytes and memory are counted. The bytes
that an engine would shuffle between the steps of a partitioned graph are those that go to a key and come back.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from pydantic import TypeAdapter

from pipelines.graph import partition
from pipelines.planning.bill import PlannedSide, bill_of, planned_side, size
from pipelines.planning.cost_model import StageCost
from pipelines.planning.plan_settings import PlanSettings
from pipelines.planning.sample_runs import MeasuredRun, PlainText, SampleRun, run_stages, sampled_lines
from pipelines.runners.spool import Spool
from tests.benchmarks.bench_memory import write_texts
from tests.benchmarks.real_pairs import DATA

FILES = "en.txt", "xx.txt"


class Compared(NamedTuple):
    """A quantity of a stage: foreseen, and as it was."""

    foreseen: float
    found: float

    def text(self, bytes_: bool) -> str:
        values = (size(value) if bytes_ else f"{value:,.3g}" for value in self)
        off = f"{self.foreseen / self.found - 1:+.0%}" if self.found else "-"
        return f"{' / '.join(values)} ({off})"


def main() -> None:
    if not DATA.exists():
        print(f"## plan: skipped, {DATA} is not here")
        return
    for given in os.environ.get("PLANNED", "100000").split(","):
        lines, _, search = given.partition(":")
        with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
            _check(Path(name), int(lines), search or "auto")


def _check(folder: Path, lines: int, search: str) -> None:
    write_texts(folder, lines)
    settings = PlanSettings(search=search)  # type: ignore[arg-type]
    plan = bill_of(planned_sides(folder, settings), settings).plan
    command = [sys.executable, "-m", __name__, str(folder), plan.search]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
    found = TypeAdapter(SampleRun).validate_json(made)
    print(f"## plan of {lines:,} lines a side, {plan.search} search: foreseen / as it was", flush=True)
    print("stage | CPU s | read | written | shuffled | files opened | memory of the process", flush=True)
    for stage in plan.stages:
        print(" | ".join([stage.stage, *_figures(stage, found.stages[stage.stage])]), flush=True)


def planned_sides(folder: Path, settings: PlanSettings) -> tuple[PlannedSide, PlannedSide]:
    """English, and text of many languages."""
    english = planned_side(str(folder / FILES[0]), settings.sample, 0)
    others = sampled_lines([str(folder / FILES[1])], settings.sample)
    return english, PlannedSide(others.lines, others.texts, None, others.windows)


def _figures(stage: StageCost, run: MeasuredRun) -> list[str]:
    return [
        Compared(3600 * stage.core_hours, run.seconds).text(bytes_=False),
        Compared(stage.read, run.files.read).text(bytes_=True),
        Compared(stage.written, run.files.written).text(bytes_=True),
        Compared(stage.shuffled, run.files.shuffled).text(bytes_=True),
        Compared(stage.objects, run.files.opens).text(bytes_=False),
        Compared(stage.memory, run.memory).text(bytes_=True),
    ]


def measured(folder: Path, search: str) -> None:
    """One mine, in a process of its own."""
    settings = PlanSettings(search=search)  # type: ignore[arg-type]
    sides = [PlainText(folder / file, lang) for file, lang in zip(FILES, ("en", None), strict=True)]
    with patch.object(partition, "search_key", _counted_search):
        found = run_stages(folder / "mine", settings, sides)
    print(TypeAdapter(SampleRun).dump_json(found).decode())


_search_key = partition.search_key


def _counted_search(given: list[partition.KeySide], *others: Any) -> partition.Found:
    found = _search_key(given, *others)
    for parts, vectors, cells in given:
        arrays = *(rows for _, rows in parts), vectors.ids, vectors.stored, vectors.inverse_norms, *cells
        Spool.spooled += sum(array.nbytes for array in arrays)
    Spool.spooled += sum(part.rows.nbytes + sum(a.nbytes for a in part.found) for _, part in found.parts)
    return found


if __name__ == "__main__":
    measured(Path(sys.argv[1]), sys.argv[2])
