"""A training run that a person watches: status, progress bar, and a table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from encoder.data.heldout import MOST_HELD_OUT
from encoder.distributed import launched_rank
from encoder.training.observation import Quiet, RunLog
from encoder.training.session import Trained, train
from encoder.training.training_settings import EvaluationSettings, TrainSettings
from encoder.training.validation import Measure


def train_watched(
    settings: TrainSettings,
    out: Path,
    *,
    exclude: Sequence[str] = (),
    strict: bool = False,
    tensorboard: bool = False,
    measure: Measure | None = None,
) -> Trained:
    """`train`, shown on the terminal of the first process."""
    console = Console(stderr=True, quiet=launched_rank() > 0)
    status = console.status("preparing data")
    observers: list[Quiet] = []

    def close_all() -> None:
        while observers:
            observers.pop().close()

    def begin_training(folder: Path) -> Quiet:
        status.stop()
        close_all()
        observers.append(Quiet() if launched_rank() else RunLog(folder, console, tensorboard=tensorboard))
        return observers[-1]

    try:
        with status:
            trained = train(
                settings,
                out,
                begin_training,
                exclude=list(exclude),
                strict=strict,
                measure=measure,
                report=lambda groups: status.update(f"preparing data: {groups:,} groups tokenized"),
            )
    finally:
        close_all()
    _show_summary(console, trained, settings.evaluation)
    return trained


def _show_summary(console: Console, trained: Trained, evaluation: EvaluationSettings) -> None:
    result, store = trained.result, trained.store
    table = Table(title=Text(f"trained: {trained.folder}"), title_justify="left", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", justify="right")
    pairs_per_second = result.position.pairs / max(result.position.seconds, 1e-9)
    figure = trained.validation.title if trained.validation else "held-out P@1"
    rows = [
        ("languages", f"{len(store.languages)}"),
        ("pairs in the corpora", f"{store.pairs:,} ({_held_out(trained.held_out, evaluation)})"),
        ("examples to train on", f"{trained.trained_on:,}"),
        *((f"lines dropped: {reason}", f"{count:,}") for reason, count in sorted(store.counters.items())),
        ("steps", f"{result.position.step:,}" + (" (stopped early)" if result.stopped_early else "")),
        ("epochs", f"{result.position.pairs / trained.examples:.2f}"),
        ("minutes", f"{result.position.seconds / 60:.1f}"),
        ("pairs a second", f"{pairs_per_second:,.0f}"),
        ("updates skipped, not finite", f"{result.skipped}"),
        *([] if result.start is None else [(f"{figure} at the start", f"{100 * result.start:.2f}")]),
        (figure, "-" if result.best is None else f"{100 * result.best:.2f} at step {result.best_step:,}"),
    ]
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _held_out(pairs: int, evaluation: EvaluationSettings) -> str:
    """How many are held out, and why fewer than were asked for."""
    said = f"{pairs:,} held out"
    if pairs >= evaluation.pairs:
        return said
    why = "of evaluation.share" if evaluation.share else f"at most {MOST_HELD_OUT:.0%} of each language pair"
    return f"{said} of the {evaluation.pairs:,} wanted: {why}"
