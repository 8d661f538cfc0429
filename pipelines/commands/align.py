"""`twinlode align`: documents in two languages in, aligned sentences out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.commands.mine import show
from pipelines.commands.options import DatasetColumnsOption, DatasetOption, hub_folder
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.align.job import AlignResult

Documents = Annotated[
    str, typer.Argument(help="A folder, a file or a quoted glob: text, `docid TAB sentence`, HTML, WARC, WET.")
]


def command(
    source: Documents,
    target: Documents,
    out: Annotated[str, typer.Option("--out", "-o", help="Pairs: .tsv, .parquet, .jsonl or .tmx.")],
    src_lang: Annotated[str, typer.Option(help="Source language, such as en.")],
    tgt_lang: Annotated[str, typer.Option(help="Target language.")],
    encoder: Annotated[
        str | None, typer.Option(help="Encoder: a folder, a URL, or a Hugging Face model. Default: our own.")
    ] = None,
    documents: Annotated[
        str | None, typer.Option(help="Write the document pairs: source TAB target TAB how likely translations.")
    ] = None,
    unmatched: Annotated[
        str | None, typer.Option(help="Write the documents without counterpart: side TAB document TAB reason.")
    ] = None,
    beads: Annotated[str | None, typer.Option(help="Write the beads as Vecalign does: [0, 1]:[0]:cost.")] = None,
    xces: Annotated[str | None, typer.Option(help="Write XCES links as OPUS has them.")] = None,
    parallel: Annotated[
        str | None, typer.Option(help="Write whole parallel documents (JSONL), paragraphs and beads kept.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Write an HTML page: documents, dot plots, beads by kind, the worst beads first.")
    ] = None,
    leftovers: Annotated[
        str, typer.Option(help="mine: sentences that alignment leaves over are mined, into the same pairs; or drop.")
    ] = "drop",
    work: Annotated[str | None, typer.Option(help="Folder for mining leftovers. Default: beside --out.")] = None,
    most: Annotated[int, typer.Option("--most", help="Sentences of a bead, both sides together, at most.")] = 8,
    confidence: Annotated[
        float, typer.Option(help="Document pairs that are less likely translations are not aligned.")
    ] = 0.5,
    format: Annotated[
        str | None, typer.Option(help="Format of the files, as for prepare. Default: by extension.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column or field with the text.")] = None,
    ref_column: Annotated[str | None, typer.Option(help="Column that names the document.")] = None,
    lang_filter: Annotated[
        str, typer.Option(help="detect: refuse documents of other languages; assume: trust the language given.")
    ] = "detect",
    max_chars: Annotated[int, typer.Option(help="Longer sentences are dropped.")] = 10_000,
    pair_format: Annotated[str | None, typer.Option(help="Pair format where --out does not tell: moses.")] = None,
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads. Default: all cores.")] = None,
) -> None:
    """Find which documents are translations of each other and align their sentences in order, many to many.

    A file is a document, or, where its lines are `docid TAB sentence`, a record of an archive is. Of two single files
    the sentences are aligned at once.

    Example: twinlode align en/ de/ -o pairs.tsv --src-lang en --tgt-lang de --documents documents.tsv
    """
    quiet_beam()
    from rich.console import Console

    from encoder.settings import validate_settings
    from mining.errors import InputError
    from mining.pair_formats import write_pairs
    from pipelines.align.corpora import document_files
    from pipelines.align.job import AlignSettings, align_documents
    from pipelines.align.outputs import (
        pair_rows,
        write_beads,
        write_documents,
        write_links_xml,
        write_parallel,
        write_unmatched,
    )
    from pipelines.align.page import write_page
    from pipelines.commands.places import check_places
    from pipelines.mine.pair_export import check_target, written_files

    if leftovers not in ("drop", "mine"):
        raise InputError(f"--leftovers is drop or mine, not {leftovers}")
    read: dict[str, Any] = {"format": format, "column": column, "ref_column": ref_column, "max_chars": max_chars}
    tree: dict[str, Any] = {
        name: {"inputs": [given], "read": read | {"lang": lang}, "lang_filter": lang_filter}
        for name, given, lang in (("source", source, src_lang), ("target", target, tgt_lang))
    }
    tree |= {"encoder": encoder, "beads": most, "confidence": confidence, "device": device, "threads": threads}
    settings = validate_settings(AlignSettings, tree, "align")
    languages = settings.source.read.lang, settings.target.read.lang
    others = filter(None, [documents, unmatched, beads, xces, parallel, report])
    check_places([*written_files(out, pair_format, languages), *others], document_files([source, target]))
    folder = hub_folder(dataset, dataset_columns, languages)
    console = Console(stderr=True)
    result = align_documents(settings, report=lambda step: console.print(f"[bold]{step}"))
    batches = list(pair_rows(result))
    mined = 0
    if leftovers == "mine":
        from pipelines.align.leftovers import mine_leftovers

        console.print("[bold]mine leftovers")
        more = mine_leftovers(settings, result, work or f"{out}.work")
        mined = sum(batch.num_rows for batch in more)
        batches += more
    written = write_pairs(
        out, batches, format=check_target(out, pair_format), src_lang=languages[0], tgt_lang=languages[1]
    )
    if folder is not None:
        folder.write(batches, written, _summary(result, mined))
    if documents:
        write_documents(documents, result.pairs)
    if unmatched:
        write_unmatched(unmatched, result.unmatched)
    if beads:
        write_beads(beads, result.pairs)
    if xces:
        write_links_xml(xces, result.pairs)
    if parallel:
        write_parallel(parallel, result)
    if report:
        write_page(report, result)
    _summarise(result, written, mined, out)


def _summarise(result: AlignResult, written: int, mined: int, out: str) -> None:
    show("aligned", [*_summary(result, mined), (f"pairs in {out}", f"{written:,}")])


def _summary(result: AlignResult, mined: int) -> list[tuple[str, str]]:
    from pipelines.align.page import kinds

    reasons = Counter(row.reason.split(":")[0] for row in result.unmatched)
    dropped = result.source.dropped + result.target.dropped
    common = ", ".join(f"{kind} {count:,}" for kind, count in kinds(result).most_common(6))
    return [
        ("documents", f"{len(result.source.documents):,} and {len(result.target.documents):,}"),
        ("sentences", f"{result.source.sentences:,} and {result.target.sentences:,}"),
        *((f"lines dropped: {reason}", f"{count:,}") for reason, count in dropped.items()),
        ("document pairs", f"{len(result.pairs):,}"),
        *((f"documents unmatched: {reason}", f"{count:,}") for reason, count in reasons.most_common(6)),
        ("beads", common),
        ("pairs mined from leftovers", f"{mined:,}"),
    ]
