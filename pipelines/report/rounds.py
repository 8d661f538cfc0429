"""The rounds of a retraining loop, as curves and as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from mining.paths import local_path
from pipelines.loop.records import RoundRecord, read_round, read_rounds, read_state
from pipelines.report import charts
from pipelines.report.charts import Rows
from pipelines.report.panels import Panel
from pipelines.report.views import View

_ROUND = re.compile(r"(?:round-(\d+)/)?(.+)")


class Rounds(NamedTuple):
    """What is shown of a loop; outside of one only the sentence that says so."""

    sentence: str
    is_loop: bool
    panels: list[Panel]
    columns: list[str]
    rows: list[list[str]]


def read_loop(workdir: str) -> Rounds:
    """The rounds that are finished in a loop's folder."""
    folder = local_path(workdir)
    state = read_state(Path(folder)) if folder else None
    if state is None:
        return Rounds("This is not the folder of a loop, so there are no rounds to compare.", False, [], [], [])
    assert folder is not None
    rounds = read_rounds(Path(folder))
    if not rounds:
        return Rounds("No round of this loop is finished yet.", True, [], [], [])
    control = read_round(Path(folder) / "control")
    best = f" The best round is {state.best}." if state.best is not None else ""
    ended = f"The loop stopped: {state.stopped}." if state.stopped else "The loop goes on."
    columns = ["round", "pairs mined", "estimated precision", "true precision", *rounds[0].scores, "score", "minutes"]
    table = [_row(record, columns) for record in [*rounds, *([control] if control else [])]]
    return Rounds(ended + best, True, _panels(rounds, control), columns, table)


def repeated_mines(views: Sequence[View]) -> Rounds | None:
    """Mines in `round-1`, `round-2` ... beside those that came before them, as a demo leaves them; None without any."""
    found = [(int(match[1] or 0), match[2], view) for view in views if (match := _ROUND.fullmatch(view.name))]
    numbers = sorted({number for number, _, _ in found})
    if len(numbers) < 2:
        return None
    sentence = "The same text was mined again after each round of training."
    panels = [_by_round("pairs", "Pairs mined", [(number, name, view.total) for number, name, view in found], False)]
    columns = ["round", "mines", "pairs"]
    mines = [[view for n, _, view in found if n == number] for number in numbers]
    table = [
        [str(number), f"{len(of_round)}", f"{sum(view.total for view in of_round):,}"]
        for number, of_round in zip(numbers, mines, strict=True)
    ]
    for key in ("precision", "recall", "f1") if all(view.truth for view in views) else ():
        title = "F1" if key == "f1" else f"True {key}"
        panels.append(_by_round(key, title, [(n, name, getattr(view.truth, key)) for n, name, view in found], True))
        columns.append(f"{title}, mean")
        for row, of_round in zip(table, mines, strict=True):
            row.append(f"{mean(getattr(view.truth, key) for view in of_round):.1%}")
    return Rounds(sentence, False, panels, columns, table)


def _by_round(
    key: str, title: str, points: Sequence[tuple[int | None, str, float]], percent: bool, axis: str | None = None
) -> Panel:
    """A line for each name, over (round, name, value)."""
    if not points:
        return Panel(key, title, "No round has mined anything yet.")
    rows: Rows = [{"round": number, "value": value, "what": name} for number, name, value in points]
    return Panel(key, title, "By round.", charts.over_rounds(rows, axis or title.lower(), percent))


def _panels(rounds: list[RoundRecord], control: RoundRecord | None) -> list[Panel]:
    scores = [
        (record.round, name, value)
        for record in rounds
        for name, value in {**record.scores, "score": record.score}.items()
    ]
    if control is not None:
        scores.append((rounds[-1].round, "control, score", control.score))
    pairs = [(record.round, mined.pair, mined.selected) for record in rounds for mined in record.mined]
    precision = [
        (record.round, name, value)
        for record in rounds
        for name, value in (("estimate", record.estimated_precision), ("truth", record.true_precision))
        if value is not None
    ]
    return [
        _by_round("scores", "Held-out scores", scores, False, "score"),
        _by_round("pairs", "Pairs mined", pairs, False),
        _by_round("precision", "Precision", precision, True),
    ]


def _row(record: RoundRecord, columns: list[str]) -> list[str]:
    shares = (record.estimated_precision, record.true_precision)
    return [
        "control" if record.round is None else str(record.round),
        f"{record.pairs:,}",
        *("–" if share is None else f"{share:.1%}" for share in shares),
        *(f"{record.scores[name]:.2f}" if name in record.scores else "–" for name in columns[4:-2]),
        f"{record.score:.2f}",
        f"{record.minutes:.1f}",
    ]
