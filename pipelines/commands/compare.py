"""`twinlode compare`: objectives side by side, on the same encoder, data and budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.runs import RunStatus

if TYPE_CHECKING:
    from pipelines.evaluation.finished_rows import Finished


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
    """Train every row, evaluate it, and print one table, and another of what papers claim.

    Killed, it goes on with the row it was in. DIR/compare.json has every score, DIR/compare.md the table.

    \b
    Example:
      twinlode compare configs/compare.yaml --out runs/compare
    """
    from rich.console import Console

    from encoder.settings import load_settings
    from pipelines.commands.places import check_places, require_folder
    from pipelines.evaluation.comparison import CompareSettings, compare
    from pipelines.evaluation.comparison_tables import claims_table, report_files, table, write_reports
    from pipelines.runners.console_table import show_table

    require_folder(str(out))
    check_places([str(path) for path in report_files(out)], [str(config)])
    overrides = list(set_ or [])
    if minutes is not None:
        overrides += [f"minutes={minutes}", "examples=null"]
    settings = load_settings(CompareSettings, config, overrides)
    console = Console(stderr=True)
    progress = _Progress(console)
    try:
        rows = compare(settings, out, progress, row or [])
    finally:
        progress.close()
    written = write_reports(settings, rows, out)
    show_table(table(settings, rows), Console(), f"{settings.budget} each")
    if settings.claims:
        show_table(claims_table(settings, rows), Console(), "claims of the papers", texts=True)
    console.print(f"written: {written[0]}, {written[1]}", highlight=False)


class _Progress(RunStatus):
    def checking(self, benchmark: str) -> None:
        self.stage("all rows", f"checking {benchmark}")

    def preparing(self, row: str, groups: int) -> None:
        self.stage(row, f"preparing data, {groups:,} groups tokenized")

    def evaluating(self, row: str, benchmark: str) -> None:
        self.stage(row, f"evaluating {benchmark}")

    def finished(self, row: Finished, again: bool) -> None:
        self.console.print(
            f"{row.name}, seed {row.seed}: {'finished before' if again else 'finished'}", highlight=False
        )
