"""The rounds of a retraining loop, as curves and as a table."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mining.files import local_path
from pipelines.loop.state import RoundRecord, read_round, read_rounds, read_state
from pipelines.report import charts
from pipelines.report.charts import Rows
from pipelines.report.panels import Panel


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


def _panels(rounds: list[RoundRecord], control: RoundRecord | None) -> list[Panel]:
    scores: Rows = [
        {"round": record.round, "value": value, "what": name}
        for record in rounds
        for name, value in {**record.scores, "score": record.score}.items()
    ]
    if control is not None:
        scores += [{"round": rounds[-1].round, "value": control.score, "what": "control, score"}]
    pairs: Rows = [
        {"round": record.round, "value": mined.selected, "what": mined.pair}
        for record in rounds
        for mined in record.mined
    ]
    precision: Rows = [
        {"round": record.round, "value": value, "what": name}
        for record in rounds
        for name, value in (("estimate", record.estimated_precision), ("truth", record.true_precision))
        if value is not None
    ]
    panels = [Panel("scores", "Held-out scores", "By round.", charts.over_rounds(scores, "score", False))]
    for key, title, rows, percent in (
        ("pairs", "Pairs mined", pairs, False),
        ("precision", "Precision", precision, True),
    ):
        spec = charts.over_rounds(rows, title.lower(), percent) if rows else None
        panels.append(Panel(key, title, "By round." if rows else "No round has mined anything yet.", spec))
    return panels


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
