"""`twinlode eval`: encoders on published test sets, a subcommand for each benchmark."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from mining.errors import InputError
from pipelines.commands.derived import (
    GivenOptions,
    Keys,
    key,
    typer_command,
    validated,
    with_settings,
)
from pipelines.commands.options import TrustOption
from pipelines.evaluation.benchmark_table import BENCHMARKS

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.evaluation.benchmark import Benchmark
    from pipelines.evaluation.suite import Report, Suite

SUITE = "suite"
ABOUT = {name: entry.about for name, entry in BENCHMARKS.items()} | {
    SUITE: "The benchmarks that --config lists, with an overall score where it asks for one."
}
# Of the settings of a benchmark, those that are no options: a suite's own, and lists of lists (--set).
_NO_OPTIONS = {"benchmark", "data", "title", "groups"}

DataOption = Annotated[Path, typer.Option(help="Folder of the benchmark's files as published; of a suite, their root.")]
EncodersOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Checkpoint, Hugging Face or sentence-transformers folder or hub id, or a folder of vectors: X.npy or "
        "X.arrow for each text file X. Repeat it to compare. Default: the encoder that comes with twinlode."
    ),
]
WriteTextsOption = Annotated[
    Path | None,
    typer.Option(help="In place of --encoder: write the texts here that precomputed vectors are needed of."),
]
JsonOption = Annotated[
    Path | None, typer.Option(help="Write all scores and how they were done; curves go into NAME.files.")
]


class Benchmarks(TyperGroup):
    """The benchmarks by name; only the one that is run is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(ABOUT)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in ABOUT:
            near = difflib.get_close_matches(cmd_name, ABOUT, n=1)
            advice = f"did you mean {near[0]}?" if near else f"choose from {', '.join(ABOUT)}"
            raise InputError(f"there is no benchmark {cmd_name!r}; {advice}")
        return typer_command(cmd_name, benchmark_command(cmd_name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Benchmarks"):
            formatter.write_dl(list(ABOUT.items()))


command = Benchmarks(
    name="eval",
    subcommand_metavar="BENCHMARK [OPTIONS]",
    rich_markup_mode=None,
    no_args_is_help=True,
    help=inspect.cleandoc("""Measure encoders on a benchmark, or on a suite of them.

    `twinlode eval BENCHMARK --help` shows its options.

    \b
    Examples:
      twinlode eval tatoeba --data tatoeba/v1 --languages deu --json out.json
      twinlode eval suite --config configs/suite-shared.yaml \\
          --data ../shared/data --encoder runs/small/best \\
          --encoder sentence-transformers/LaBSE"""),
)


def benchmark_command(name: str) -> Callable[..., None]:
    """The command of a benchmark, its options those of the benchmark's settings; one benchmark is a suite of one."""
    model = BENCHMARKS[name].load() if name != SUITE else None
    options = {field: key(field) for field in model.model_fields if field not in _NO_OPTIONS} if model else {}

    def run(
        *,
        data: DataOption,
        encoder: EncodersOption = None,
        write_texts: WriteTextsOption = None,
        json: JsonOption = None,
        markdown: Annotated[Path | None, typer.Option(help="Write the tables as Markdown.")] = None,
        device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
        trust_remote_code: TrustOption = False,
        chosen: GivenOptions,
    ) -> None:
        from rich.console import Console

        from encoder import default
        from pipelines.commands.eval_summary import show_report
        from pipelines.commands.places import check_places
        from pipelines.evaluation.result_tables import write_json, write_markdown

        suite = suite_of_one(name, model, options, chosen) if model else listed_suite(chosen)
        console = Console(stderr=True)
        if write_texts is not None and not encoder:
            _write_texts(console, suite, data, write_texts)
            return
        if write_texts is not None:
            raise InputError("--write-texts takes the place of --encoder; leave one of them out")
        check_places(
            [str(path) for path in (json, markdown) if path is not None], [str(chosen.config)] if chosen.config else []
        )
        report = _run(console, suite, data, encoder or [str(default.model_folder())], device, trust_remote_code)
        show_report(Console(), report)
        if json is not None:
            write_json(json, report)
        if markdown is not None:
            write_markdown(markdown, report)
        if report.mistake is not None:
            raise report.mistake

    run.__doc__ = f"{ABOUT[name]}\n\n{inspect.cleandoc(model.__doc__ or '') if model else ''}"
    return with_settings(model, options, example="languages=[deu,fra]")(run)


def suite_of_one(name: str, model: type[Benchmark], options: Mapping[str, Keys], chosen: GivenOptions) -> Suite:
    from pipelines.evaluation.suite import Suite

    return Suite(benchmarks=(validated(model, options, {"data": "."} | chosen.tree(), f"eval {name}"),))


def listed_suite(chosen: GivenOptions) -> Suite:
    from encoder.settings import validate_settings
    from pipelines.evaluation.suite import Suite

    if chosen.config is None:
        raise InputError("a suite needs --config, a YAML list of benchmarks such as configs/suite-shared.yaml")
    return validate_settings(Suite, chosen.tree(), str(chosen.config))


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
