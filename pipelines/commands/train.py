"""`twinlode train`: a sentence encoder from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from encoder.training.session import Trained
    from encoder.training.settings import TrainSettings


def command(
    config: Annotated[Path, typer.Argument(help="Training configuration (YAML), see configs/.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run found there is continued.")],
    minutes: Annotated[float | None, typer.Option(help="Time budget: the whole schedule is planned to it.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, for example model.dim=256.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Drop training pairs with a side in this file or glob (repeatable).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard event files.")] = False,
) -> None:
    """Train a sentence encoder on parallel text.

    Example: twinlode train configs/ems-small.yaml --out runs/small --minutes 30 --exclude 'eval/*.txt'

    DIR/best is the encoder with the highest held-out P@1. On several GPUs: torchrun --nproc-per-node 8 -m pipelines.cli
    train ...
    """
    from rich.console import Console

    from encoder.settings import load_settings
    from encoder.training.distributed import launched_rank
    from encoder.training.observation import Quiet, RunLog
    from encoder.training.session import train
    from encoder.training.settings import TrainSettings

    overrides = list(set_ or [])
    if minutes is not None:
        overrides += ["limits.steps=null", "limits.epochs=null", f"limits.minutes={minutes}"]
    settings = load_settings(TrainSettings, config, overrides)
    console = Console(stderr=True, quiet=launched_rank() > 0)
    status = console.status("preparing data")
    observers: list[Quiet] = []

    def begin_training() -> Quiet:
        status.stop()
        observers.append(Quiet() if launched_rank() else RunLog(out, console, tensorboard=tensorboard))
        return observers[-1]

    try:
        with status:
            trained = train(
                settings,
                out,
                begin_training,
                exclude=_expand(exclude or []),
                strict=strict,
                report=lambda groups: status.update(f"preparing data: {groups:,} groups tokenized"),
            )
    finally:
        for opened in observers:
            opened.close()
    _summarise(console, settings, trained)


def _expand(patterns: list[str]) -> list[str]:
    from encoder.data.corpora import expand
    from mining.errors import InputError

    paths = []
    for pattern in patterns:
        found = expand(pattern)
        if not found:
            raise InputError(f"--exclude {pattern}: no such file")
        paths += found
    return paths


def _summarise(console: Console, settings: TrainSettings, trained: Trained) -> None:
    from rich.table import Table

    result, store = trained.result, trained.store
    table = Table(title=f"trained: {trained.folder}", show_header=False)
    pairs_per_second = result.position.pairs / max(result.position.seconds, 1e-9)
    rows = [
        ("languages", f"{len(store.languages)}"),
        ("pairs in the corpora", f"{store.pairs:,} ({trained.held_out:,} held out)"),
        ("examples to train on", f"{trained.examples:,}"),
        *((f"lines dropped: {reason}", f"{count:,}") for reason, count in sorted(store.counters.items())),
        ("steps", f"{result.position.step:,}" + (" (stopped early)" if result.stopped_early else "")),
        ("epochs", f"{result.position.pairs / trained.examples:.2f}"),
        ("minutes", f"{result.position.seconds / 60:.1f}"),
        ("pairs a second", f"{pairs_per_second:,.0f}"),
        ("updates skipped, not finite", f"{result.skipped}"),
        ("held-out P@1", "-" if result.best is None else f"{100 * result.best:.2f} at step {result.best_step:,}"),
    ]
    for row in rows:
        table.add_row(*row)
    console.print(table)
