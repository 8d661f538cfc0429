"""`twinlode prepare`: raw text to a dataset of clean, distinct, numbered sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.datasets.manifest import Dataset

OPTIONS = {
    "lang": key("read.lang"),
    "format": key("read.format"),
    "column": key("read.column"),
    "ref_column": key("read.ref_column"),
    "documents": key("documents"),
    "encoder": key("encoder"),
    "lang_filter": key("lang_filter"),
    "lang_probability": key("lang_probability"),
    "max_chars": key("read.max_chars"),
    "truncated": key("read.truncated"),
    "rows_per_shard": key("rows_per_shard"),
    "block_mb": key("block_mb"),
    "memory_mb": key("memory_mb"),
}


@with_settings(PrepareSettings, OPTIONS, example="read.max_chars=500")
def command(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files, URLs or quoted globs; gz, bz2, xz and zst by extension.")
    ] = None,
    *,
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the dataset.")],
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    chosen: GivenOptions,
) -> None:
    """Read, clean, filter by language, deduplicate and number the sentences of a corpus.

    With --documents nothing is deduplicated, and each sentence is stored with its document (a file, a page, or what the
    first column of `docid TAB sentence` says) and its position there.

    Run again to continue after an interruption; a finished dataset is not made twice.

    \b
    Example:
      twinlode prepare 'en/*.txt.gz' --lang en --out work/en
    """
    quiet_beam()
    from pipelines.commands.console_output import say_notes
    from pipelines.commands.places import require_folder
    from pipelines.prepare.corpus_notes import column_notes, language_notes
    from pipelines.prepare.sentence_stage import prepare
    from pipelines.runners.runner import load_runner, require_reachable

    chosen |= {"out": out} | ({"inputs": inputs} if inputs else {})
    settings = validated(PrepareSettings, OPTIONS, chosen.tree(), "prepare")
    require_folder(out)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [*settings.inputs, out])
    say_notes(column_notes(settings.inputs, settings.read, documents=settings.documents))
    dataset = prepare(settings, where, quiet=False)
    summarise(dataset)
    say_notes(language_notes(settings.inputs, settings.read, dataset.manifest.counters, "--lang"))


def summarise(dataset: Dataset) -> None:
    """Print what became of the rows of a dataset."""
    from pipelines.commands.console_output import show

    counters = dataset.manifest.counters
    dropped = sorted(counters.dropped.items(), key=lambda item: -item[1])
    rows = [
        ("sentences read", f"{counters.rows_in:,}"),
        *((f"dropped: {reason.replace('_', ' ')}", f"{rows:,}") for reason, rows in dropped),
        (f"kept, in {len(dataset.shards)} shards", f"{counters.kept:,}"),
    ]
    show(dataset.url, rows)
