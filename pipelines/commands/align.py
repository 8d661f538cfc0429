"""`twinlode align`: documents in two languages in, aligned sentences out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mining.errors import InputError
from pipelines.align.align_settings import AlignSettings
from pipelines.commands.console_output import console_report, say_notes, show
from pipelines.commands.derived import GivenOptions, key, refuse_mistakes, validated, with_settings
from pipelines.commands.options import CORPUS_OPTIONS, DatasetColumnsOption, DatasetOption, RunnerSetOption, hub_folder
from pipelines.mine.job_defaults import SIDES
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.align.align_job import AlignResult
    from pipelines.runners.runner import Runner

OPTIONS = {
    **CORPUS_OPTIONS,
    "most": key("beads"),
    "confidence": key("confidence"),
    "leftovers": key("leftovers"),
}

_KINDS = 6  # of beads in the summary

Documents = Annotated[
    str | None, typer.Argument(help="A folder, a file or a quoted glob: text, `docid TAB sentence`, HTML, WARC, WET.")
]


@with_settings(AlignSettings, OPTIONS, example="candidates=40")
def command(
    source: Documents = None,
    target: Documents = None,
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="Pairs: .tsv, .parquet, .jsonl or .tmx.")],
    documents: Annotated[
        str | None, typer.Option(help="Write the document pairs: source TAB target TAB how likely translations.")
    ] = None,
    unmatched: Annotated[
        str | None, typer.Option(help="Write the documents without counterpart: side TAB document TAB reason.")
    ] = None,
    beads: Annotated[str | None, typer.Option(help="Write the beads as Vecalign does: [0, 1]:[0]:cost.")] = None,
    xces: Annotated[str | None, typer.Option(help="Write XCES links as OPUS has them.")] = None,
    parallel: Annotated[
        str | None,
        typer.Option(help="Write whole parallel documents (JSONL): sentences, paragraphs of text, beads."),
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Write an HTML page: documents, dot plots, beads by kind, the worst beads first.")
    ] = None,
    runner: Annotated[
        str | None,
        typer.Option(help="Work by stages that can be resumed: local, flink, spark, dataflow, or a YAML file."),
    ] = None,
    runner_set: RunnerSetOption = None,
    work: Annotated[str | None, typer.Option(help="Folder for stages and leftovers. Default: beside --out.")] = None,
    pair_format: Annotated[str | None, typer.Option(help="Pair format where --out does not tell: moses.")] = None,
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    chosen: GivenOptions,
) -> None:
    """Find which documents are translations of each other and align their sentences in order, many to many.

    A file is a document, or, where its lines are `docid TAB sentence`, a record of an archive is. Of two single files
    the sentences are aligned at once.

    \b
    Examples:
      twinlode align book.en.txt book.de.txt -o book.tsv
      twinlode align books/en/ books/de/ -o books.tsv --documents documents.tsv
    """
    quiet_beam()
    from pipelines.commands.encoder_figures import encoder_row, warnings
    from pipelines.commands.places import work_beside
    from pipelines.mine.pair_export import written_files

    settings = _settings(chosen, source, target)
    languages = settings.source.read.lang, settings.target.read.lang
    outputs = AlignOutputs(documents, unmatched, beads, xces, parallel, report)
    outputs.check(settings, written_files(out, pair_format, languages))
    folder = hub_folder(dataset, dataset_columns, languages)
    about = [encoder_row(settings.encoder, languages)]
    result, mined = _aligned_pairs(settings, work or work_beside(out), runner, runner_set)
    summary = [*about, *_summary(result, sum(batch.num_rows for batch in mined))]
    written = _write_pairs(out, _batches(result, mined), pair_format, languages)
    if folder is not None:
        folder.write(_batches(result, mined), written, summary)
    outputs.write(result)
    say_notes(warnings(settings.encoder, languages))
    show("aligned", [*summary, (f"pairs in {out}", f"{written:,}")])


def _settings(chosen: GivenOptions, source: str | None, target: str | None) -> AlignSettings:
    """Of the options; languages that nobody names are those of the text."""
    from pipelines.align.documents import document_files
    from pipelines.mine.job_defaults import columns_read, fill_in_languages

    chosen |= {f"{side}.inputs": [given] for side, given in zip(SIDES, (source, target), strict=True) if given}
    tree = chosen.tree()
    refuse_mistakes(AlignSettings, OPTIONS, tree, "align")
    say_notes(columns_read(tree, document_files))  # may be why a language cannot be told
    say_notes(fill_in_languages(tree, document_files))
    return validated(AlignSettings, OPTIONS, tree, "align")


def _aligned_pairs(
    settings: AlignSettings, work: str, runner: str | None, overrides: list[str] | None
) -> tuple[AlignResult, list[pa.RecordBatch]]:
    """The alignment, and pairs mined from what it leaves over; the work folder is held where it is used."""
    from mining.locks import held_folder
    from pipelines.align.leftovers import has_classifier, mine_leftovers
    from pipelines.runners.runner import load_runner

    if overrides and runner is None:
        raise InputError("--runner-set changes settings of a runner; name one with --runner")
    chosen = load_runner(runner, overrides or []) if runner else None
    mines = settings.leftovers == "mine"
    if mines:
        has_classifier(settings)  # one that cannot be read is refused before hours of alignment
    with held_folder(work) if mines or runner else nullcontext():
        result = _aligned(settings, work, chosen)
        if not mines:
            return result, []
        console_report("mine leftovers")
        return result, mine_leftovers(settings, result, work, chosen)


def _aligned(settings: AlignSettings, work: str, runner: Runner | None) -> AlignResult:
    """In memory, or by stages where a runner is named."""
    if runner is None:
        from pipelines.align.align_job import align_documents

        return align_documents(settings, report=console_report)
    from pipelines.align.align_stage import align_on_runner

    return align_on_runner(settings, work, runner, report=console_report)


class AlignOutputs(NamedTuple):
    """Files beside the pairs, those that are wanted."""

    documents: str | None
    unmatched: str | None
    beads: str | None
    xces: str | None
    parallel: str | None
    report: str | None

    def check(self, settings: AlignSettings, pairs: list[str]) -> None:
        """An error where these files, or those of the pairs, would take the place of a document or of each other."""
        from pipelines.align.documents import document_files
        from pipelines.commands.places import check_places

        inputs = document_files([*settings.source.inputs, *settings.target.inputs])
        check_places([*pairs, *filter(None, self)], inputs)

    def write(self, result: AlignResult) -> None:
        from pipelines.align import outputs
        from pipelines.align.alignment_page import write_page

        if self.documents:
            outputs.write_documents(self.documents, result.pairs)
        if self.unmatched:
            outputs.write_unmatched(self.unmatched, result.unmatched)
        if self.beads:
            outputs.write_beads(self.beads, result)
        if self.xces:
            outputs.write_links_xml(self.xces, result.pairs)
        if self.parallel:
            outputs.write_parallel(self.parallel, result)
        if self.report:
            write_page(self.report, result)


def _batches(result: AlignResult, mined: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All pairs, made as they are read."""
    from pipelines.align.outputs import pair_rows

    yield from pair_rows(result)
    yield from mined


def _write_pairs(
    out: str, batches: Iterator[pa.RecordBatch], pair_format: str | None, languages: tuple[str, str]
) -> int:
    from mining.pair_formats import write_pairs
    from pipelines.mine.pair_export import check_target

    kind = check_target(out, pair_format)
    return write_pairs(out, batches, format=kind, src_lang=languages[0], tgt_lang=languages[1])


def bead_row(counts: Counter[str]) -> str:
    """How many beads there are of the commonest kinds, and of all others."""
    common = counts.most_common(_KINDS)
    others = counts.total() - sum(count for _, count in common)
    return ", ".join(f"{kind} {count:,}" for kind, count in [*common, *([("others", others)] if others else [])])


def _summary(result: AlignResult, mined: int) -> list[tuple[str, str]]:
    from pipelines.align.alignment_page import kinds

    reasons = Counter(row.reason.split(":")[0] for row in result.unmatched)
    dropped = result.source.dropped + result.target.dropped
    return [
        ("documents", f"{len(result.source.documents):,} and {len(result.target.documents):,}"),
        ("sentences", f"{result.source.sentences:,} and {result.target.sentences:,}"),
        *((f"lines dropped: {reason}", f"{count:,}") for reason, count in dropped.items()),
        ("document pairs", f"{len(result.pairs):,}"),
        *((f"documents unmatched: {reason}", f"{count:,}") for reason, count in reasons.most_common()),
        ("beads", bead_row(kinds(result))),
        ("pairs mined from leftovers", f"{mined:,}"),
    ]
