"""`twinlode mine`: two corpora in, translation pairs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.commands.options import (
    DeviceOption,
    DtypeOption,
    EncoderOption,
    FiltersOption,
    GoldOption,
    MarginOption,
    NeighboursOption,
    PrecisionOption,
    RejectedOption,
    RetrievalOption,
    RunnerOption,
    RunnerSetOption,
    SeedPairsOption,
    ThreadsOption,
    ThresholdFromOption,
    ThresholdOption,
    TopOption,
    read_filters,
)
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.mine.job import JobResult

Corpus = Annotated[list[str], typer.Option(help="Files, URLs or quoted globs (repeatable); gz, bz2, xz, zst too.")]
FileFormat = Annotated[str | None, typer.Option(help="Format of the files, as for prepare; by extension unless told.")]
Column = Annotated[str | None, typer.Option(help="Column or field with the text.")]


def command(
    src: Corpus,
    tgt: Corpus,
    src_lang: Annotated[str, typer.Option(help="Source language, such as en.")],
    tgt_lang: Annotated[str, typer.Option(help="Target language.")],
    encoder: EncoderOption,
    out: Annotated[str, typer.Option(help="Pairs: .tsv, .parquet, .jsonl or .tmx; a * makes one file a shard.")],
    work: Annotated[str, typer.Option(help="Folder (any fsspec URL) for everything between; reruns continue it.")],
    format: FileFormat = None,
    column: Column = None,
    ref_column: Annotated[str | None, typer.Option(help="Column that names each row.")] = None,
    lang_filter: Annotated[str, typer.Option(help="detect: drop other languages; assume: trust you.")] = "detect",
    max_chars: Annotated[int, typer.Option(help="Longer sentences are dropped.")] = 2000,
    k: NeighboursOption = 4,
    mode: Annotated[str, typer.Option(help="exact, or faiss: approximate, with the recall measured.")] = "exact",
    margin: MarginOption = "ratio",
    retrieval: RetrievalOption = "max",
    threshold: ThresholdOption = None,
    top: TopOption = None,
    gold: GoldOption = None,
    target_precision: PrecisionOption = None,
    seed_pairs: SeedPairsOption = None,
    threshold_from: ThresholdFromOption = None,
    filters: FiltersOption = "standard",
    rejected: RejectedOption = None,
    pair_format: Annotated[str | None, typer.Option(help="Pair format where --out does not tell: moses.")] = None,
    dtype: DtypeOption = "float32",
    rows_per_shard: Annotated[int, typer.Option(help="Sentences, vectors and pairs in each shard.")] = ROWS_PER_SHARD,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Mine translation pairs from text: prepare, embed, graph and mine in one command.

    Run again to continue after an interruption: whatever is complete in --work is kept. With --threshold-from all
    other options stay those of the mine that was reviewed; its pairs stay, too.

    Example: twinlode mine --src en.txt.gz --tgt 'de/*.txt.zst' --src-lang en --tgt-lang de --encoder runs/small/best
    --out pairs.tsv --work work
    """
    quiet_beam()
    from rich.console import Console

    from encoder.settings import validate_settings
    from mining.errors import InputError
    from mining.files import require_writable
    from pipelines.mine.job import mine_corpora
    from pipelines.mine.mine_settings import JobSettings
    from pipelines.mine.pair_export import check_target, export_pairs
    from pipelines.mine.review_result import reviewed_threshold
    from pipelines.runners.runner import load_runner, require_reachable

    read: dict[str, Any] = {"format": format, "column": column, "ref_column": ref_column, "max_chars": max_chars}
    sides = {
        name: {"inputs": files, "read": read | {"lang": lang}, "lang_filter": lang_filter}
        for name, files, lang in (("source", src, src_lang), ("target", tgt, tgt_lang))
    }
    tree: dict[str, Any] = sides | {
        "encoder": encoder,
        "work": work,
        "dtype": dtype,
        "k": k,
        "mode": mode,
        "margin": margin,
        "retrieval": retrieval,
        "threshold": {"at_least": threshold, "top": top, "gold": gold, "precision": target_precision},
        "seed": seed_pairs,
        "pairs": "pairs",
        "filters": read_filters(filters),
        "rows_per_shard": rows_per_shard,
        "device": device,
        "threads": threads,
    }
    if threshold_from is not None:
        if any(choice is not None for choice in (threshold, top, gold)):
            raise InputError("--threshold-from takes the place of --threshold, --top and --gold; leave them out")
        # The probes of a reviewed mine are in its graph; what they say of the threshold gives way to the review.
        tree |= {"threshold": {"at_least": reviewed_threshold(threshold_from)}, "pairs": "pairs-reviewed"}
    elif seed_pairs is not None and target_precision is None:
        raise InputError("--seed-pairs needs --target-precision: the seed calibrates its threshold")
    settings = validate_settings(JobSettings, tree, "mine")
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [out, *filter(None, [rejected, gold, seed_pairs])])
    for url in filter(None, [out, rejected]):
        check_target(url, pair_format if url == out else None)
        if "*" not in url:
            require_writable(url)
    console = Console(stderr=True)
    result = mine_corpora(settings, where, quiet=False, report=lambda stage: console.print(f"[bold]{stage}"))
    written = export_pairs(result.pairs, out, pair_format, src_lang, tgt_lang)
    if rejected:
        export_pairs(result.pairs, rejected, None, src_lang, tgt_lang, rejected=True)
    _summarise(result, written, out)


def _summarise(result: JobResult, written: int, out: str) -> None:
    counters, measures = result.pairs.manifest.counters, result.pairs.manifest.measures
    graph = result.graph.manifest.measures
    rows = [
        ("source sentences", f"{result.source.rows:,}"),
        ("target sentences", f"{result.target.rows:,}"),
        *((f"graph {name.replace('_', ' ')}", f"{value:.4f}") for name, value in graph.items()),
        ("matched pairs", f"{counters.rows_in:,}"),
        *((f"dropped: {reason.replace('_', ' ')}", f"{count:,}") for reason, count in counters.dropped.items()),
        *((name.replace("_", " "), f"{value:,.4f}") for name, value in measures.items()),
        (f"pairs in {out}", f"{written:,}"),
    ]
    show("mined", rows)


def show(title: str, rows: list[tuple[str, str]]) -> None:
    """Print a table of names and figures."""
    from rich.console import Console
    from rich.table import Table

    table = Table("", "", title=title, title_justify="left", show_header=False)
    table.columns[1].justify, table.columns[1].overflow = "right", "fold"  # a path that is cut off is of no use
    for row in rows:
        table.add_row(*row)
    Console().print(table)
