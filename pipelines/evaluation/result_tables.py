"""Results of benchmarks as JSON, as Markdown, and the tables that go beside them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mining.files import atomic_text
from pipelines.evaluation.benchmark import BenchmarkResult, Score
from pipelines.evaluation.samples import ConfidenceInterval, Difference
from pipelines.evaluation.suite import HeadlineScores, Measured, Report

_SIGNIFICANT = 0.05


def write_json(path: Path, report: Report) -> None:
    """Every score and how it was done; curves and examples go as TSV into the folder `NAME.files` beside it."""
    for results in report.results:
        for result in results:
            _write_attachments(path, result, len(report.encoders) > 1)
    document = {
        "encoders": report.encoders,
        "unfinished": None if report.mistake is None else str(report.mistake),
        "headlines": [_line_record(line) for line in report.lines],
        "results": [_record(result) for results in report.results for result in results],
    }
    with atomic_text(str(path)) as stream:
        json.dump(_finite(document), stream, indent=2, ensure_ascii=False, default=str)
        stream.write("\n")


def write_markdown(path: Path, report: Report) -> None:
    """The headline table, all other scores, and how each benchmark was done."""
    with atomic_text(str(path)) as stream:
        stream.write(markdown(report))


def markdown(report: Report) -> str:
    unfinished = [] if report.mistake is None else [f"Unfinished: {report.mistake}.", ""]
    parts = ["# Benchmarks", "", *unfinished, *_headline_table(report), ""]
    for results in report.results:
        parts += [
            f"## {results[0].benchmark}",
            "",
            *table_lines(["dataset", "metric", *report.encoders], score_rows(results)),
            "",
        ]
        parts += _how(results)
    return "\n".join(parts) + "\n"


def shown(value: float, deviation: float | None = None) -> str:
    """A score as tables show it."""
    return f"{value:.1f}" if deviation is None else f"{value:.1f} ± {deviation:.1f}"


def shown_headline(measured: Measured) -> str:
    """A score with its interval."""
    text = shown(measured.score.value, measured.score.deviation)
    return text if measured.interval is None else f"{text} [{measured.interval.low:.1f}, {measured.interval.high:.1f}]"


def shown_difference(difference: Difference | None) -> str:
    """A difference of two scores, with a star where p < 0.05."""
    if difference is None:
        return "-"
    star = " *" if difference.p_value < _SIGNIFICANT else ""
    low, high = difference.interval
    return f"{difference.value:+.1f} [{low:+.1f}, {high:+.1f}] p {difference.p_value:.3f}{star}"


def _headline_table(report: Report) -> list[str]:
    first, *others = report.encoders
    header = ["benchmark", "score", first]
    for other in others:
        header += [other, f"{other} minus {first}"]
    rows = []
    for line in report.lines:
        row = [line.benchmark, line.name, shown_headline(line.measured[0])]
        for measured, difference in zip(line.measured[1:], line.differences[1:], strict=True):
            row += [shown_headline(measured), shown_difference(difference)]
        rows.append(row)
    legend = "In brackets: 95% bootstrap intervals over the items of the test sets."
    if others:
        legend += " p: paired bootstrap, two-sided, one test a line, not corrected for their number; * p < 0.05."
    return [*table_lines(header, rows), "", legend]


def score_rows(results: Sequence[BenchmarkResult]) -> list[list[str]]:
    """Dataset, metric and the value of each encoder, for every score of one benchmark."""
    tables = [{score.name: score for score in result.outcome.scores} for result in results]
    return [
        [score.dataset, score.metric, *(_cell(table.get(score.name)) for table in tables)]
        for score in results[0].outcome.scores
    ]


def _cell(score: Score | None) -> str:
    return "-" if score is None else shown(score.value, score.deviation)


def _how(results: tuple[BenchmarkResult, ...]) -> list[str]:
    how = results[0].how
    lines = ["How it was done:", ""]
    lines += [f"- {choice.name}: {choice.value}" for choice in how.choices]
    lines.append(f"- data: `{how.data}`, hash `{how.data_hash}`")
    lines += [
        f"- encoder `{each.how.encoder}`: fingerprint `{each.how.encoder_fingerprint}`, "
        f"truncation {each.how.truncation}, {each.how.seconds:.1f} s"
        for each in results
    ]
    return [*lines, ""]


def table_lines(header: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _record(result: BenchmarkResult) -> dict[str, Any]:
    return {
        "benchmark": result.benchmark,
        "scores": [
            {
                "dataset": s.dataset,
                "metric": s.metric,
                "value": s.value,
                "deviation": s.deviation,
                "headline": s.headline,
            }
            for s in result.outcome.scores
        ],
        "how": {**asdict(result.how), "choices": {choice.name: choice.value for choice in result.how.choices}},
    }


def _line_record(line: HeadlineScores) -> dict[str, Any]:
    return {
        "benchmark": line.benchmark,
        "name": line.name,
        "values": [measured.score.value for measured in line.measured],
        "intervals": [measured.interval for measured in line.measured],
        "differences_to_first": [
            None
            if difference is None
            else {"value": difference.value, "interval": difference.interval, "p_value": difference.p_value}
            for difference in line.differences
        ],
    }


def _finite(value: Any) -> Any:
    """NaN and infinity are not JSON: they become null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple | ConfidenceInterval):
        return [_finite(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def _write_attachments(path: Path, result: BenchmarkResult, several: bool) -> None:
    for attachment in result.outcome.attachments:
        parts = [result.benchmark, *([result.how.encoder_fingerprint[:8]] if several else []), attachment.name]
        name = re.sub(r"[^\w.\-]+", "-", ".".join(parts))
        with atomic_text(str(path.with_suffix(".files") / f"{name}.tsv")) as stream:
            writer = csv.writer(stream, "excel-tab", lineterminator="\n")
            writer.writerow(attachment.columns)
            writer.writerows(attachment.rows)
