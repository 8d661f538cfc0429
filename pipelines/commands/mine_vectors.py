"""`twinlode mine-vectors`: pairs from vectors that already exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.commands.options import PAIR_SEARCH_OPTIONS, RejectedOption, chosen_filters
from pipelines.mine.mine_settings import VectorJobSettings

if TYPE_CHECKING:
    from pipelines.mine.pair_search import JobResult

OPTIONS = {
    "src_vectors": key("source.vectors"),
    "tgt_vectors": key("target.vectors"),
    "src_text": key("source.text"),
    "tgt_text": key("target.text"),
    "src_lang": key("source.lang"),
    "tgt_lang": key("target.lang"),
    "dim": key("dim"),
    "dtype": key("dtype"),
    **PAIR_SEARCH_OPTIONS,
    "seed_src_vectors": key("source.seed_vectors"),
    "seed_tgt_vectors": key("target.seed_vectors"),
}


@with_settings(VectorJobSettings, OPTIONS)
def command(
    *,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="Pairs: .tsv, .parquet, .jsonl or .tmx, compressed by a further extension."),
    ],
    work: Annotated[
        str | None,
        typer.Option(help="Work folder (any fsspec URL); reruns continue what is in it. Default: beside --out."),
    ] = None,
    filters: Annotated[
        str | None, typer.Option(help="none, standard, or a YAML file of filter settings. Default: none.")
    ] = None,
    rejected: RejectedOption = None,
    candidates: Annotated[
        str | None, typer.Option(help="Write all k candidates of both directions here, with their scores.")
    ] = None,
    curve: Annotated[
        str | None, typer.Option(help="Write precision, recall and yield by threshold here (.tsv).")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Pair format where the extension does not tell: moses.")] = None,
    chosen: GivenOptions,
) -> None:
    """Mine translation pairs from vectors you already have.

    The vectors are copied once, into the work folder, where `report`, `review` and `inspect` find the mine. Run again
    to continue after an interruption, or with another threshold: what is complete in the work folder is kept.

    \b
    Example:
      twinlode mine-vectors --src-vectors en.bin --tgt-vectors de.bin \\
          --dim 1024 --dtype float32 --src-text en.txt.gz --tgt-text de.txt.gz \\
          -o laser.tsv --threshold 1.06
    """
    from mining.errors import InputError
    from mining.lazy import without
    from pipelines.commands.console_output import console_report
    from pipelines.commands.partitioned_options import require_use
    from pipelines.commands.places import work_beside

    chosen |= {"work": work or work_beside(out)} | chosen_filters(filters)
    settings = validated(VectorJobSettings, OPTIONS, chosen.tree(), "mine-vectors")
    require_use(settings)
    if curve is not None and settings.threshold.gold is None and settings.threshold.precision is None:
        raise InputError("--curve needs --gold or --precision: without them nothing is known of precision")
    _check_outputs(settings, out, format, [*filter(None, [rejected, candidates])], curve, filters)

    with without("pandas"):  # which pyarrow imports with its first array
        from pipelines.mine.pair_export import export_pairs
        from pipelines.mine.vector_job import mine_vectors

        result = mine_vectors(settings, quiet=False, report=console_report)
        languages = settings.source.lang, settings.target.lang
        if rejected:
            export_pairs(result.pairs, rejected, None, *languages, rejected=True)
        if candidates:
            _write_candidates(candidates, result, settings)
        if curve:
            _write_curve(curve, result)
        written = export_pairs(result.pairs, out, format, *languages)
        _summarise(result, written, out, settings)


def _check_outputs(
    settings: VectorJobSettings, out: str, format: str | None, others: list[str], curve: str | None, filters: str | None
) -> None:
    """Find out before hours of work that something cannot be written, or would overwrite what is read."""
    from pipelines.commands.places import check_places, require_folder
    from pipelines.mine.pair_export import written_files

    languages = settings.source.lang, settings.target.lang
    outputs = [name for url in others for name in written_files(url, None, languages)]
    outputs = [*written_files(out, format, languages), *outputs, *filter(None, [curve])]
    read = [filters, settings.threshold.gold, settings.seed]
    for side in (settings.source, settings.target):
        read += [side.text, side.vectors, side.seed_vectors]
    check_places(outputs, [url for url in read if url], shards=True)
    require_folder(settings.work)


def _write_candidates(url: str, result: JobResult, settings: VectorJobSettings) -> None:
    from mining.pair_formats import write_pairs
    from pipelines.mine.candidate_pairs import candidate_batches

    batches = candidate_batches(result.pairs, settings.margin, settings.memory)
    write_pairs(url, batches, src_lang=settings.source.lang, tgt_lang=settings.target.lang)


def _write_curve(url: str, result: JobResult) -> None:
    """The tuned or the calibrated curve as a table, best score first."""
    from mining.files import atomic_text
    from pipelines.mine.score_curve import ScoreCurve

    points = ScoreCurve.read(result.pairs.url)
    assert points is not None, "a mine keeps its curve"
    names = ["threshold", "precision", "precision_low", "precision_high", "recall", "kept"]
    columns = {name: values for name in names if (values := getattr(points, name))}
    with atomic_text(url) as stream:
        stream.write("\t".join(columns) + "\n")
        for row in zip(*columns.values(), strict=True):
            stream.write("\t".join(f"{value:.6g}" for value in row) + "\n")


def _summarise(result: JobResult, written: int, out: str, settings: VectorJobSettings) -> None:
    from pipelines.commands.console_output import say_notes
    from pipelines.commands.mine_summary import summarise
    from pipelines.commands.partitioned_options import unused_options

    summarise(result, written, out, settings.work)
    say_notes(unused_options(settings, result.graph))
    by_language = settings.filters.language is not None or settings.filters.script is not None
    if by_language and None in (settings.source.lang, settings.target.lang):
        say_notes(
            ["a language that is not given (--src-lang, --tgt-lang) is not checked by the language and script filters"]
        )
