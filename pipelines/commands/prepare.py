"""`twinlode prepare`: raw text to a dataset of clean, distinct, numbered sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.datasets import ROWS_PER_SHARD

if TYPE_CHECKING:
    from pipelines.datasets.manifest import Dataset

_FORMATS = "txt, tsv, bucc, jsonl, parquet, gettext, wet, warc or html; default: by extension"


def command(
    inputs: Annotated[list[str], typer.Argument(help="Files, URLs or quoted globs; gz, bz2, xz and zst by extension.")],
    lang: Annotated[str, typer.Option(help="Language of the text, such as en or zh.")],
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the dataset.")],
    format: Annotated[str | None, typer.Option(help=f"File format: {_FORMATS}.")] = None,
    column: Annotated[
        str | None, typer.Option(help="TSV column number, JSONL field, Parquet column, or msgid.")
    ] = None,
    ref_column: Annotated[str | None, typer.Option(help="Column that names each row, such as a document URL.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Encoder folder: adds the subword ids of each sentence.")] = None,
    lang_filter: Annotated[str, typer.Option(help="detect: drop other languages; assume: trust --lang.")] = "detect",
    lang_probability: Annotated[
        float | None, typer.Option(help="Keep what is at least as likely in its language.", show_default="0.5")
    ] = None,
    max_chars: Annotated[int, typer.Option(help="Longer sentences are dropped.")] = 2000,
    truncated: Annotated[str, typer.Option(help="Damaged archives: stop, or keep what can be read.")] = "stop",
    rows_per_shard: Annotated[int, typer.Option(help="Sentences in each shard.")] = ROWS_PER_SHARD,
    block_mb: Annotated[float, typer.Option(help="Size of the pieces of work that files are cut into.")] = 16,
    memory_mb: Annotated[int, typer.Option(help="Memory for finding duplicates, in each worker.")] = 512,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Read, clean, filter by language, deduplicate and number the sentences of a corpus.

    Run again to continue after an interruption; a finished dataset is not made twice.

    Example: twinlode prepare 'en/*.txt.gz' --lang en --out work/en
    """
    import logging

    logging.getLogger().setLevel(logging.ERROR)  # Beam warns of optional packages when it is imported
    from encoder.settings import validate_settings
    from pipelines.commands.places import require_folder
    from pipelines.prepare.sentence_stage import PrepareSettings, prepare
    from pipelines.runners.runner import load_runner, require_reachable

    read: dict[str, Any] = {"lang": lang, "format": format, "column": column, "ref_column": ref_column}
    tree: dict[str, Any] = {
        "inputs": inputs,
        "out": out,
        "read": read | {"max_chars": max_chars, "truncated": truncated},
        "lang_filter": lang_filter,
        "encoder": encoder,
        "rows_per_shard": rows_per_shard,
        "block_mb": block_mb,
        "memory_mb": memory_mb,
    }
    if lang_probability is not None:
        tree["lang_probability"] = lang_probability
    settings = validate_settings(PrepareSettings, tree, "prepare")
    require_folder(out)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [*inputs, out])
    summarise(prepare(settings, where, quiet=False))


def summarise(dataset: Dataset) -> None:
    """Print what became of the rows of a dataset."""
    from rich.console import Console
    from rich.table import Table

    counters = dataset.manifest.counters
    table = Table("", "sentences", title=dataset.url, title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("read", f"{counters.rows_in:,}")
    for reason, rows in sorted(counters.dropped.items(), key=lambda item: -item[1]):
        table.add_row(f"dropped: {reason.replace('_', ' ')}", f"{rows:,}")
    table.add_row(f"kept, in {len(dataset.shards)} shards", f"{counters.kept:,}")
    Console().print(table)
