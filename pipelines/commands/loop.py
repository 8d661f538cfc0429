"""`twinlode loop`: mine, train on what was mined, evaluate, again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.commands.runs import RunStatus
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.loop.records import RoundRecord


def command(
    config: Annotated[Path, typer.Argument(help="Seed, text, rounds and benchmarks (YAML), see configs/loop-*.yaml.")],
    out: Annotated[Path, typer.Option(help="Folder of the loop; a loop found there is continued.")] = Path("runs/loop"),
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, for example max_rounds=5.")
    ] = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Train an encoder on seed bitext, mine monolingual text with it, train on seed and mined pairs, and so on.

    Killed, it goes on where it was. DIR/best is the encoder of the round with the best held-out score, DIR/round-N has
    everything that round N made, DIR/loop.md the table, DIR/report.html curves and pairs.

    \b
    Example:
      twinlode loop configs/loop-shared.yaml --out runs/loop
    """
    quiet_beam()
    from rich.console import Console

    from encoder.settings import load_settings
    from pipelines.commands.places import require_folder
    from pipelines.loop.engine import run_loop
    from pipelines.loop.loop_settings import LoopSettings
    from pipelines.loop.round_table import table, write_table
    from pipelines.report import write_report
    from pipelines.runners.console_table import show_table
    from pipelines.runners.runner import load_runner

    require_folder(str(out))
    settings = load_settings(LoopSettings, config, set_ or [])
    console = Console(stderr=True)
    progress = _Progress(console)
    try:
        result = run_loop(settings, out, load_runner(runner, runner_set or []), progress)
    finally:
        progress.close()
    written = write_table(settings, result, out)
    show_table(table(settings, result), Console(), "loop")
    made = [str(written), str(out / "best")]
    if settings.shared is None and len(result.rounds) > 1:  # else there is no mine here to report on
        made.append(write_report(str(out)))
    console.print(f"stopped: {result.state.stopped}; written: {', '.join(made)}", highlight=False, soft_wrap=True)


class _Progress(RunStatus):
    def finished(self, title: str, record: RoundRecord, again: bool) -> None:
        scores = ", ".join(f"{name} {value:.1f}" for name, value in record.scores.items())
        mined = f"{record.pairs:,} pairs mined, " if record.mined else ""
        before = " (before)" if again else ""
        self.console.print(f"{title} finished{before}: {mined}{scores}", highlight=False, soft_wrap=True)
        for pair in record.mined:
            if pair.note:
                self.console.print(f"{title}, {pair.pair}: {pair.note}", style="yellow", soft_wrap=True)
