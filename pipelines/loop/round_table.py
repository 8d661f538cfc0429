"""The table at the end of a loop, and the same as Markdown."""

from __future__ import annotations

from pathlib import Path

from encoder.cards import markdown_table
from encoder.encoder_card import add_section
from mining.files import atomic_text
from pipelines.evaluation.result_tables import shown
from pipelines.loop.engine import BEST, LoopResult
from pipelines.loop.loop_settings import LoopSettings
from pipelines.loop.records import RoundRecord


def table(settings: LoopSettings, result: LoopResult) -> list[list[str]]:
    """Header and one line a round, the control last; a dash where there is no figure."""
    titles = [column.title for column in settings.columns]
    lines = [["round", "pairs mined", "precision: estimated", "in gold", *titles, "updates", "minutes"]]
    for record in result.rounds:
        best = " (best)" if record.round == result.state.best else ""
        lines.append(_line(f"{record.round}{best}", record, titles))
    if result.control is not None:
        lines.append(_line("control", result.control, titles))
    return lines


def _line(name: str, record: RoundRecord, titles: list[str]) -> list[str]:
    precisions = [_percent(record.estimated_precision), _percent(record.true_precision)]
    pairs = f"{record.pairs:,}" if record.mined else "-"
    scores = [shown(record.scores[title]) for title in titles]
    return [name, pairs, *precisions, *scores, f"{record.training.updates:,}", f"{record.minutes:.1f}"]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def write_table(settings: LoopSettings, result: LoopResult, out: Path) -> Path:
    """`loop.md`, and the same in the card of the best encoder."""
    header, *rows = table(settings, result)
    control = " The control had as many updates as all rounds, on the seed alone." if result.control else ""
    text = f"{markdown_table(header, rows)}\n\nStopped: {result.state.stopped}.{control}\n"
    path = out / "loop.md"
    with atomic_text(str(path)) as stream:
        stream.write(text)
    add_section(out / BEST, out / BEST, "Loop", f"The encoder of round {result.state.best} of a loop.\n\n{text}")
    return path
