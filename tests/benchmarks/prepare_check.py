"""What `twinlode plan` foresees of the time to prepare and embed text, and what it takes: `plan_check` but for more.

`MORE_TEXT='runs/package-text/*.jsonl.xz' python -m tests.benchmarks.prepare_check 300000 1000000`
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter

from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.vector_stage import embed
from pipelines.planning.cost_model import embed_seconds, prepare_seconds
from pipelines.planning.counted_files import PROTOCOL, Traffic
from pipelines.planning.plan_settings import PlanSettings
from pipelines.planning.sample_runs import (
    MeasuredRun,
    PlainText,
    SampleRun,
    embed_row_seconds,
    measured,
    spread_evenly,
    text_settings,
)
from pipelines.planning.word_growth import measure_growth
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import RunnerSettings
from tests.benchmarks.bench_memory import write_texts
from tests.benchmarks.plan_check import FILES, Compared, planned_sides

_GIVEN = TypeAdapter(tuple[Path, list[PlainText], int])


def main(lines: Sequence[int]) -> None:
    for count in lines:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_texts(folder, count)
            foreseen = _foreseen(folder, count)
            sides = [PlainText(folder / file, lang) for file, lang in zip(FILES, ("en", None), strict=True)]
            found = _by_new_process(folder / "all", sides, PlanSettings().rows_per_shard).stages
            for stage, seconds in foreseen.items():
                print(f"{count:,} lines | {stage} | {Compared(seconds, found[stage].seconds).text(bytes_=False)} CPU s")
            met = found["prepare"].met
            print(f"{met.words:,} words were new, {met.seconds:.1f} s", flush=True)


def _foreseen(folder: Path, lines: int) -> dict[str, float]:
    """By the sample runs that a plan makes, in its order."""
    settings = PlanSettings()
    given = planned_sides(folder, settings)

    def sample(name: str, count: int, run: Any) -> SampleRun:
        sides = []
        for number, side in enumerate(given):
            file = folder / f"{name}-{number}.txt"
            file.write_text("\n".join(spread_evenly(side.sample, count)) + "\n", encoding="utf-8")
            sides.append(PlainText(file, side.lang))
        found: SampleRun = run(folder / name, sides, settings.rows_per_shard)
        return found

    sample("first", settings.sample, prepared)
    found = SimpleNamespace(
        warm=sample("warm", 200, _by_new_process),
        whole=sample("whole", settings.sample, _by_new_process),
        again=sample("again", settings.sample, prepared),
        small=sample("small", settings.sample // 16, prepared),
        embed_rows=[
            embed_row_seconds(folder / f"near-{number}", settings, side.windows, side.lang)
            for number, side in enumerate(given)
        ],
        growth=[measure_growth(side.windows, settings.encoder, side.lang or "en") for side in given],
    )
    rows = lines * found.whole.rows / found.whole.lines
    words = ", ".join(f"{growth.new_words(rows):,.0f}" for growth in found.growth)
    print(f"foreseen to be new: {words} words; {found.growth}; a row to embed {found.embed_rows}", flush=True)
    sides = rows, rows
    return {"prepare": prepare_seconds(sides, found), "embed": embed_seconds(sides, found)}  # type: ignore[arg-type]


def _by_new_process(folder: Path, sides: list[PlainText], rows_per_shard: int) -> SampleRun:
    given = _GIVEN.dump_json((folder, sides, rows_per_shard))
    command = [sys.executable, "-m", __spec__.name]
    made = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout
    return TypeAdapter(SampleRun).validate_json(made.splitlines()[-1])


def prepared(folder: Path, sides: list[PlainText], rows_per_shard: int) -> SampleRun:
    """Both sides, by this process, prepared and embedded."""
    folder.mkdir()
    stages = dict.fromkeys(("prepare", "embed"), MeasuredRun(0.0, Traffic()))
    settings, alone = PlanSettings(rows_per_shard=rows_per_shard), RunnerSettings(processes=1)
    made = []
    for number, side in enumerate(sides):
        with measured(stages, "prepare"):
            asked = text_settings(f"{PROTOCOL}://{folder}/{number}", side, settings)
            made.append(prepare(asked, alone))
        with measured(stages, "embed"):
            embed(
                EmbedSettings(sentences=asked.out, out=f"{asked.out}-v", encoder=settings.encoder, device="cpu"), alone
            )
    lines = sum(dataset.manifest.counters.rows_in for dataset in made)
    return SampleRun(lines, len(made[0].shards), sum(dataset.rows for dataset in made), 0, stages)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main([int(count) for count in sys.argv[1:]])
    else:
        print(TypeAdapter(SampleRun).dump_json(prepared(*_GIVEN.validate_json(sys.stdin.read()))).decode())
