"""The tables of a comparison: figures of rows, and claims held against them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mining.files import atomic_text
from pipelines.evaluation.claims import Judged, judge
from pipelines.evaluation.comparison import CompareSettings
from pipelines.evaluation.finished_rows import Finished, Summary, summary
from pipelines.evaluation.result_tables import shown, shown_difference, table_lines

_LEGEND = (
    "In brackets: 95% bootstrap intervals over the items of the test sets and over seeds; ±: standard deviation over "
    "seeds; p: of the paired bootstrap, * below 0.05. Not corrected for the number of claims."
)


def table(settings: CompareSettings, rows: Sequence[Finished]) -> list[list[str]]:
    """Header and one line a row; a dash where a score is missing."""
    lines = [["", *settings.titles, "seeds", "steps", "examples"]]
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        figures = [_cell(summary(rows, name, title)) for title in settings.titles]
        steps, examples = (f"{round(float(np.mean(counts))):,}" for counts in _counts(own))
        lines.append([name, *figures, str(len(own)), steps, examples])
    return lines


def _counts(rows: Sequence[Finished]) -> tuple[list[int], list[int]]:
    return [row.steps for row in rows], [row.examples for row in rows]


def _cell(found: Summary | None) -> str:
    if found is None:
        return "-"
    text = shown(found.mean, found.deviation)
    return text if found.interval is None else f"{text} [{found.interval.low:.1f}, {found.interval.high:.1f}]"


def claims_table(settings: CompareSettings, rows: Sequence[Finished]) -> list[list[str]]:
    """Header and one line a claim: what the paper says, our figures, and whether they agree."""
    lines = [["claim", "paper", "ours", "difference", "verdict"]]
    return [*lines, *(_claim_line(judge(claim, rows)) for claim in settings.claims)]


def _claim_line(found: Judged) -> list[str]:
    claim = found.claim
    ours = " against ".join("-" if value is None else shown(value) for value in (found.row, found.to))
    said = f"{claim.claim} ({claim.column}: {claim.row} {claim.expect} than {claim.to})"
    return [said, claim.paper, ours, shown_difference(found.difference), found.verdict]


def report_files(out: Path) -> tuple[Path, Path]:
    return out / "compare.json", out / "compare.md"


def write_reports(settings: CompareSettings, rows: Sequence[Finished], out: Path) -> tuple[Path, Path]:
    """`compare.json` with every figure, `compare.md` with the tables."""
    wanted = [row.name for row in settings.rows if not row.only_start]
    finished = len({row.name for row in rows})
    parts = [f"Each row: {settings.budget}; {finished} of {len(wanted)} rows finished. {_LEGEND}", ""]
    header, *lines = table(settings, rows)
    parts += [*table_lines(header, lines), ""]
    if settings.claims:
        header, *lines = claims_table(settings, rows)
        parts += [*table_lines(header, lines), ""]
    paths = report_files(out)
    with atomic_text(str(paths[0])) as stream:
        record = {
            "settings": settings.model_dump(mode="json"),
            "rows": [_record(row) for row in rows],
            "claims": [_judged_record(judge(claim, rows)) for claim in settings.claims],
        }
        json.dump(record, stream, indent=1, ensure_ascii=False)
    with atomic_text(str(paths[1])) as stream:
        stream.write("\n".join(parts))
    return paths


def _record(row: Finished) -> dict[str, object]:
    return row._asdict() | {"figures": {title: figure.value for title, figure in row.figures.items()}}


def _judged_record(found: Judged) -> dict[str, object]:
    difference = found.difference and found.difference._asdict()
    return found._asdict() | {"claim": found.claim.model_dump(), "difference": difference}
