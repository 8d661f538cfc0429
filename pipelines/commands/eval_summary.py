"""What `eval` prints: headline scores of all encoders, every score of a single benchmark, and how it was done."""

from __future__ import annotations

from rich.console import Console

from pipelines.evaluation.benchmark import Attachment
from pipelines.evaluation.result_tables import score_rows, shown_difference, shown_headline
from pipelines.evaluation.suite import Report
from pipelines.runners.console_table import show_table


def show_report(console: Console, report: Report) -> None:
    lines = [["benchmark", "score", report.encoders[0]]]
    for name in report.encoders[1:]:
        lines[0] += [name, "difference to the first"]
    for line in report.lines:
        cells = [line.benchmark, line.name, shown_headline(line.measured[0])]
        for measured, difference in zip(line.measured[1:], line.differences[1:], strict=True):
            cells += [shown_headline(measured), shown_difference(difference)]
        lines.append(cells)
    show_table(lines, console, "benchmarks, with 95% bootstrap intervals", texts=True, keys=2)
    if len(report.results) == 1:
        _show_scores(console, report)
    for results in report.results:
        for choice in results[0].how.choices:
            _say(console, f"{results[0].benchmark}: {choice.name}: {choice.value}")
        _say(console, f"{results[0].benchmark}: data: {results[0].how.data}, hash {results[0].how.data_hash}")
        for result in results:
            _show_examples(console, result.outcome.attachments)
    for how in (result.how for result in report.results[0]):
        _say(console, f"encoder {how.encoder}: fingerprint {how.encoder_fingerprint}, truncation {how.truncation}")


def _say(console: Console, line: str) -> None:
    console.print(line, style="dim", highlight=False, markup=False)


def _show_scores(console: Console, report: Report) -> None:
    lines = [["dataset", "metric", *report.encoders], *map(list, score_rows(report.results[0]))]
    show_table(lines, console, "all scores", texts=True, keys=2)


def _show_examples(console: Console, attachments: list[Attachment]) -> None:
    """A look at mined pairs that gold does not have: some are gold's mistakes."""
    for attachment in attachments:
        if attachment.name.endswith(".not-in-gold"):
            console.print(f"{attachment.name}, the best of {len(attachment.rows)}:", style="bold")
            for score, _, _, source, target in attachment.rows[:3]:
                console.print(f"  {score}\n    {source}\n    {target}", highlight=False, markup=False)
