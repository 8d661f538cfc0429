"""`twinlode compare`: objectives side by side, on the same encoder, data and minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from encoder.training.trainer import Observer
    from pipelines.compare import Finished


def command(
    config: Annotated[Path, typer.Argument(help="Rows, columns and what they share (YAML), see configs/compare.yaml.")],
    out: Annotated[Path, typer.Option(help="Folder of all runs; finished rows found there are kept.")] = Path(
        "runs/compare"
    ),
    minutes: Annotated[float | None, typer.Option(help="Training time of each row.")] = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row (repeatable); the table has all finished.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, for example train.model.dim=64.")
    ] = None,
) -> None:
    """Train every row, evaluate it, and print one table.

    Example: twinlode compare configs/compare.yaml --out runs/compare

    Killed, it goes on with the row it was in. DIR/compare.json has every score, DIR/compare.md the table.
    """
    from rich.console import Console
    from rich.table import Table

    from encoder.settings import load_settings
    from pipelines.compare import CompareSettings, compare, table, write_reports

    overrides = list(set_ or [])
    if minutes is not None:
        overrides.append(f"minutes={minutes}")
    settings = load_settings(CompareSettings, config, overrides)
    console = Console(stderr=True)
    progress = _Progress(console)
    try:
        rows = compare(settings, out, progress, row or [])
    finally:
        progress.close()
    written = write_reports(settings, rows, out)
    header, *lines = table(settings, rows)
    shown = Table(title=f"{settings.minutes:g} {settings.clock} minutes each")
    for place, title in enumerate(header):
        shown.add_column(title, justify="right" if place else "left")
    for line in lines:
        shown.add_row(*line)
    Console().print(shown)
    console.print(f"written: {written[0]}, {written[1]}", highlight=False)


class _Progress:
    """A line of status while data is prepared or encoders are evaluated, the training bar in between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("starting")
        self._status.start()
        self._log: Observer | None = None

    def preparing(self, row: str, groups: int) -> None:
        self._status.update(f"{row}: preparing data, {groups:,} groups tokenized")

    def training(self, row: str, folder: Path) -> Observer:
        from encoder.training.observation import RunLog

        self._status.stop()
        self._console.print(f"{row}: training", highlight=False)
        self._log = RunLog(folder, self._console)
        return self._log

    def evaluating(self, row: str, benchmark: str) -> None:
        self._close_log()
        self._status.start()
        self._status.update(f"{row}: evaluating {benchmark}")

    def finished(self, row: Finished, again: bool) -> None:
        self._console.print(f"{row.name}: {'finished before' if again else 'finished'}", highlight=False)
        self._status.update("continuing")

    def _close_log(self) -> None:
        from encoder.training.observation import RunLog

        if isinstance(self._log, RunLog):
            self._log.close()
        self._log = None

    def close(self) -> None:
        self._close_log()
        self._status.stop()
