"""`twinlode eval`: encoders on published test sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.options import TrustOption

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.evaluation.benchmark import Attachment
    from pipelines.evaluation.suite import Report, Suite


def command(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="tatoeba, bucc, retrieval, xsim, xsimpp, sts, classify, questions, purity, langid-probe, paws, "
            "hubness, align, documents, noise, suite"
        ),
    ],
    data: Annotated[Path, typer.Option(help="Folder of the benchmark's files as published; of a suite, their root.")],
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="Checkpoint, Hugging Face or sentence-transformers folder or hub id, or a folder of vectors: X.npy or "
            "X.arrow for each text file X. Repeat it to compare. Default: the encoder that comes with twinlode."
        ),
    ] = None,
    write_texts: Annotated[
        Path | None,
        typer.Option(help="In place of --encoder: write the texts here that precomputed vectors are needed of."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The list of benchmarks (YAML) of a suite, see configs/.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting (docs/reference/benchmarks.md), such as languages=[deu,fra]."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write all scores and how they were done; curves go into NAME.files.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as Markdown.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    trust_remote_code: TrustOption = False,
) -> None:
    """Measure encoders on a benchmark, or on a suite of them.

    Examples: twinlode eval tatoeba --encoder runs/small/best --data tatoeba/v1 --json out.json

    twinlode eval suite --config configs/suite-shared.yaml --data ../shared/data --encoder A --encoder B
    """
    from rich.console import Console

    from encoder import default
    from mining.errors import InputError
    from pipelines.commands.places import check_places
    from pipelines.evaluation.result_tables import write_json, write_markdown

    suite = _suite(benchmark, config, set_ or [])
    console = Console(stderr=True)
    if write_texts is not None and not encoder:
        _write_texts(console, suite, data, write_texts)
        return
    if write_texts is not None:
        raise InputError("--write-texts takes the place of --encoder; leave one of them out")
    check_places([str(path) for path in (json, markdown) if path is not None], [str(config)] if config else [])
    report = _run(console, suite, data, encoder or [str(default.model_folder())], device, trust_remote_code)
    _summarise(Console(), report)
    if json is not None:
        write_json(json, report)
    if markdown is not None:
        write_markdown(markdown, report)


def _run(
    console: Console, suite: Suite, data: Path, encoders: list[str], device: str, trust_remote_code: bool
) -> Report:
    """Run the suite with each encoder, under a line that says what is being done."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from pipelines.evaluation.sources import load_source
    from pipelines.evaluation.suite import run_suite

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("loading", total=None)
        doing = {"now": "loading"}

        def encoding(text: str, done: int, total: int) -> None:
            bar.update(task, description=f"{doing['now']}: encoding {text}, {done:,} of {total:,}")

        def running(name: str, source: str) -> None:
            doing["now"] = f"{name} with {source}"
            bar.console.print(doing["now"])
            bar.update(task, description=doing["now"])

        sources = [load_source(path, encoding, device, trust_remote_code=trust_remote_code) for path in encoders]
        return run_suite(suite, sources, data, running)


def _write_texts(console: Console, suite: Suite, data: Path, folder: Path) -> None:
    from pipelines.evaluation.benchmark import evaluate
    from pipelines.evaluation.sources import TextWriter

    writer = TextWriter(folder)
    for benchmark in suite.benchmarks:
        evaluate(benchmark, writer, data)
    for name, lines in writer.written.items():
        console.print(f"{folder / name}: {lines:,} lines; its vectors go into {name}.npy or {name}.arrow")


def _suite(benchmark: str, config: Path | None, overrides: list[str]) -> Suite:
    """One benchmark is a suite of one."""
    import difflib

    from encoder.settings import apply_override, load_settings, validate_settings
    from mining.errors import InputError
    from pipelines.evaluation.suite import NAMES, Suite

    if benchmark == "suite":
        if config is None:
            raise InputError("a suite needs --config, a YAML list of benchmarks such as configs/suite-shared.yaml")
        return load_settings(Suite, config, overrides)
    if benchmark not in NAMES:
        near = difflib.get_close_matches(benchmark, (*NAMES, "suite"), n=1)
        raise InputError(
            f"there is no benchmark {benchmark!r}"
            + (f"; did you mean {near[0]}?" if near else f"; choose from {', '.join(NAMES)} and suite")
        )
    if config is not None:
        raise InputError(f"--config is for suites; give settings of {benchmark} with --set")
    entry: dict[str, object] = {"benchmark": benchmark, "data": "."}
    for override in overrides:
        apply_override(entry, override)
    return validate_settings(Suite, {"benchmarks": [entry]}, "--set")


def _summarise(console: Console, report: Report) -> None:
    from pipelines.evaluation.result_tables import shown_difference, shown_headline
    from pipelines.runners.console_table import show_table

    lines = [["benchmark", "score", report.encoders[0]]]
    for name in report.encoders[1:]:
        lines[0] += [name, "difference to the first"]
    for line in report.lines:
        cells = [line.benchmark, line.name, shown_headline(line.measured[0])]
        for measured, difference in zip(line.measured[1:], line.differences[1:], strict=True):
            cells += [shown_headline(measured), shown_difference(difference)]
        lines.append(cells)
    show_table(lines, console, "benchmarks, with 95% bootstrap intervals", texts=True)
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
    from pipelines.evaluation.result_tables import score_rows
    from pipelines.runners.console_table import show_table

    lines = [["dataset", "metric", *report.encoders], *map(list, score_rows(report.results[0]))]
    show_table(lines, console, "all scores", texts=True)


def _show_examples(console: Console, attachments: list[Attachment]) -> None:
    """A look at mined pairs that gold does not have: some are gold's mistakes."""
    for attachment in attachments:
        if attachment.name.endswith(".not-in-gold"):
            console.print(f"{attachment.name}, the best of {len(attachment.rows)}:", style="bold")
            for score, _, _, source, target in attachment.rows[:3]:
                console.print(f"  {score}\n    {source}\n    {target}", highlight=False, markup=False)
