"""`twinlode clean`: which pairs of a bitext are translations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.commands.options import (
    DatasetColumnsOption,
    DatasetOption,
    FiltersOption,
    RunnerOption,
    RunnerSetOption,
    hub_folder,
    read_filters,
)
from pipelines.commands.standard_streams import STANDARD
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.clean.clean_stage import Cleaned


def command(
    pairs: Annotated[
        str, typer.Argument(help="The bitext: .tsv, .jsonl, .parquet, .tmx (.gz, .zst, .xz too), URL, or - (TSV).")
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Where the good pairs go; - is standard output.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder: folder or URL; default: the built-in one.")] = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language: for segmentation and filters.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language.")] = None,
    rejected: Annotated[str | None, typer.Option(help="Write the other rows here, with reason and line.")] = None,
    report: Annotated[str | None, typer.Option(help="Write a report (HTML): reasons, probabilities, examples.")] = None,
    precision: Annotated[float, typer.Option(help="Estimated share of translations among what is kept.")] = 0.95,
    classifier: Annotated[str | None, typer.Option(help="Folder of a classifier; default: that in --encoder.")] = None,
    columns: Annotated[
        tuple[str, str] | None, typer.Option(help="Columns of the texts: numbers from 1 (TSV), names (JSONL, Parquet).")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of PAIRS where its name does not tell: moses.")] = None,
    out_format: Annotated[str | None, typer.Option(help="Format of --out where its name does not tell.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add probability, cosine and margin to each row.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="In --rejected, say what speaks against a pair.")] = False,
    seed_pairs: Annotated[
        str | None, typer.Option(help="Known translations (.tsv ..): a lexicon, and a check.")
    ] = None,
    filters: FiltersOption = "standard",
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    work: Annotated[str | None, typer.Option(help="Folder (or URL) for chunks; default: temporary.")] = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Score every pair of a bitext and keep those that are translations; every other row has its reason.

    A file of pairs is read as a stream, in chunks; the margin and the rivals of a pair are those of its chunk.

    Example: twinlode clean crawl.de-en.tsv.gz -o clean.tsv.gz --rejected rejected.tsv --src-lang de --tgt-lang en
    --encoder runs/small/best
    """
    quiet_beam()
    import shutil
    import sys
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from encoder import default
    from encoder.settings import validate_settings
    from mining.files import atomic_writer, open_binary
    from mining.locks import held_folder
    from mining.pair_formats import Format, known_format
    from pipelines.clean.clean_stage import CleanSettings, clean, read_scored
    from pipelines.clean.cleaned_files import check_outputs, kept_pairs, write_kept, write_rejected
    from pipelines.commands.encoder_figures import encoder_row, warnings
    from pipelines.commands.mine import say_notes, show
    from pipelines.commands.places import check_places
    from pipelines.report.cleaned_bitext import write_clean_report
    from pipelines.runners.runner import load_runner, require_reachable

    filter_settings = read_filters(filters).model_copy(update={"repeated_target": None})  # a bitext may repeat a target
    encoder = encoder or str(default.model_folder())
    with ExitStack() as stack:
        folder = work or stack.enter_context(TemporaryDirectory(prefix="twinlode-clean-"))
        named = pairs
        if pairs == STANDARD:
            pairs, format = f"{folder}/stdin", format or Format.TSV
            with atomic_writer(pairs) as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
        streamed = out == STANDARD
        if streamed:
            out, out_format = f"{folder}/stdout", out_format or Format.TSV
        bitext = {"path": pairs, "format": format, "src_lang": src_lang, "tgt_lang": tgt_lang, "columns": columns}
        tree = {
            "bitext": bitext,
            "encoder": encoder,
            "classifier": classifier,
            "work": folder,
            "precision": precision,
            "explain": explain or report is not None,
            "filters": filter_settings,
            "seed_pairs": seed_pairs and {"path": seed_pairs},
        }
        settings = validate_settings(CleanSettings, tree, "clean")
        kind = known_format(out_format) if out_format else None
        written = check_outputs(out, rejected, kind, settings.bitext)
        where = load_runner(runner, runner_set or [])
        require_reachable(where, [pairs, out, folder, encoder, *filter(None, [rejected, report])])
        seed = settings.seed_pairs
        check_places([*written, *filter(None, [report])], [*settings.bitext.files, *(seed.files if seed else [])])
        hub = hub_folder(dataset, dataset_columns, (settings.bitext.src_lang, settings.bitext.tgt_lang))
        stack.enter_context(held_folder(folder))
        cleaned = clean(settings, where)
        write_kept(out, read_scored(cleaned), settings.bitext, format=kind, scores=scores)
        if rejected is not None:
            write_rejected(rejected, read_scored(cleaned), explain)
        if report is not None:
            write_clean_report(report, named, cleaned, _summary(cleaned), read_scored(cleaned))
        if hub is not None:
            hub.write(kept_pairs(read_scored(cleaned)), cleaned.kept, _summary(cleaned))
        if streamed:
            with open_binary(out) as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.flush()
    where_to = "standard output" if streamed else out
    languages = [lang for lang in (settings.bitext.src_lang, settings.bitext.tgt_lang) if lang]
    say_notes(warnings(encoder, languages))
    about = encoder_row(encoder, languages)
    show("cleaned", [about, *_summary(cleaned), (f"kept in {where_to}", f"{cleaned.kept:,}")], error=streamed)


def _summary(cleaned: Cleaned) -> list[tuple[str, str]]:
    table = [("rows", f"{cleaned.rows:,}")]
    for reason, (count, lines) in cleaned.reasons.items():
        first = ", ".join(map(str, lines))
        table.append((f"rejected: {reason.replace('_', ' ')}", f"{count:,} (line {first}{' ..' if count > 3 else ''})"))
    return [
        *table,
        ("right, of those scored (estimate)", f"{cleaned.share:.1%}"),
        ("least probability", f"{cleaned.point.probability:.3f}"),
        ("estimated precision", f"{cleaned.point.precision:.4f}"),
        *_checked(cleaned),
    ]


def _checked(cleaned: Cleaned) -> list[tuple[str, str]]:
    """What became of the probe pairs, right and mismatched ones."""
    found = cleaned.probes
    precision = found.precision(cleaned.share)
    if precision is None:
        return []
    return [
        ("seed pairs added as probes, kept", f"{found.right_kept:,} of {found.right:,}"),
        ("mismatched probes, kept", f"{found.mismatched_kept:,} of {found.mismatched:,}"),
        ("precision by probe pairs", f"{precision:.4f}"),
    ]
