"""`twinlode mine`: two corpora in, translation pairs out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.commands.derived import ConfigOption, SetOption, key, settings_tree, validated, with_settings
from pipelines.commands.options import (
    DatasetColumnsOption,
    DatasetOption,
    FiltersOption,
    RejectedOption,
    RunnerOption,
    RunnerSetOption,
    ThresholdFromOption,
    hub_folder,
    read_filters,
)
from pipelines.mine.job_defaults import SIDES
from pipelines.mine.mine_settings import JobSettings
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.datasets.manifest import Dataset
    from pipelines.runners.runner import Runner

OPTIONS = {
    "encoder": key("encoder"),
    "trust_remote_code": key("trust_remote_code"),
    "threshold": key("threshold.at_least"),
    "top": key("threshold.top"),
    "gold": key("threshold.gold"),
    "precision": key("threshold.precision", flags=["--target-precision"]),
    "seed_pairs": key("seed"),
    "k": key("k"),
    "search": key("search"),
    "margin": key("margin"),
    "retrieval": key("retrieval"),
    "rescore": key("rescore"),
    "format": key(*(f"{side}.read.format" for side in SIDES)),
    "column": key(*(f"{side}.read.column" for side in SIDES)),
    "ref_column": key(*(f"{side}.read.ref_column" for side in SIDES)),
    "max_chars": key(*(f"{side}.read.max_chars" for side in SIDES)),
    "truncated": key(*(f"{side}.read.truncated" for side in SIDES)),
    "lang_filter": key(*(f"{side}.lang_filter" for side in SIDES)),
    "dtype": key("dtype"),
    "rows_per_shard": key("rows_per_shard"),
    "device": key("device"),
    "threads": key("threads"),
    "memory": key("memory"),
}

Corpus = Annotated[
    str | None, typer.Argument(help="A file, a URL, a quoted glob (gz, bz2, xz and zst, too), or - for stdin.")
]
MoreFiles = Annotated[list[str] | None, typer.Option(help="More files of this side (repeatable).")]


@with_settings(JobSettings, OPTIONS)
def command(
    source: Corpus = None,
    target: Corpus = None,
    *,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="Pairs: .tsv, .parquet, .jsonl or .tmx, or - for stdout; a * makes one file a shard."
        ),
    ],
    src: MoreFiles = None,
    tgt: MoreFiles = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language, such as en.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language.")] = None,
    work: Annotated[
        str | None,
        typer.Option(help="Folder (any fsspec URL) for everything between; reruns continue it. Default: beside --out."),
    ] = None,
    threshold_from: ThresholdFromOption = None,
    filters: FiltersOption = "standard",
    rejected: RejectedOption = None,
    pair_format: Annotated[str | None, typer.Option(help="Pair format where --out does not tell: moses.")] = None,
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    config: ConfigOption = None,
    set_: SetOption = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    chosen: dict[str, Any],
) -> None:
    """Mine translation pairs from text: prepare, embed, graph and mine in one command.

    Run again to continue after an interruption: whatever is complete in the work folder is kept. With --threshold-from
    all other options stay those of the mine that was reviewed; its pairs stay, too.

    Examples: twinlode mine en.txt de.txt -o pairs.tsv

    zcat en.gz | twinlode mine - 'de/*.txt.zst' -o - --src-lang en --tgt-lang de --encoder runs/small/best | head
    """
    quiet_beam()
    from tempfile import TemporaryDirectory

    from mining.errors import InputError
    from mining.paths import expand
    from pipelines.commands.encoder_figures import encoder_row
    from pipelines.commands.mine_summary import summarise, summary
    from pipelines.commands.places import check_places, require_folder
    from pipelines.commands.standard_streams import STANDARD, copy_to_output, keep_input, require_one_input
    from pipelines.mine.job_defaults import fill_in_choices, fill_in_languages
    from pipelines.mine.pair_export import export_pairs
    from pipelines.mine.pair_stage import pair_batches
    from pipelines.mine.text_job import mine_corpora
    from pipelines.runners.runner import load_runner, require_reachable

    scratch = TemporaryDirectory(prefix="twinlode-mine-")  # for what `-` stands for
    to_standard_output, out = out == STANDARD, f"{scratch.name}/pairs.tsv" if out == STANDARD else out
    chosen |= {"work": work or work_beside(out), "filters": read_filters(filters)}
    require_one_input([source, target, *(src or []), *(tgt or [])])
    kept = Path(scratch.name if "://" in chosen["work"] else chosen["work"])
    chosen |= _given_side("source", keep_input([source, *(src or [])], kept), src_lang)
    chosen |= _given_side("target", keep_input([target, *(tgt or [])], kept), tgt_lang)
    if threshold_from is not None:
        chosen = _reviewed(chosen, threshold_from)
    elif "seed" in chosen and "threshold.precision" not in chosen:
        raise InputError("--seed-pairs needs --precision: the seed calibrates its threshold")
    tree = settings_tree(chosen, config, set_)
    reads, outputs = _inputs(tree), _outputs(out, pair_format, rejected, SIDES)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [*outputs, *reads])
    check_places(outputs, expand(reads))  # before any text is read
    found = [f"{side} language: {lang}, detected from the text" for side, lang in fill_in_languages(tree).items()]
    say_notes([*found, *fill_in_choices(tree)])
    settings = validated(JobSettings, OPTIONS, tree, "mine")
    languages = settings.source.read.lang, settings.target.read.lang
    if to_standard_output and out not in _outputs(out, pair_format, rejected, languages):
        raise InputError(f"--pair-format {pair_format} makes several files; name them, as `-` is one stream")
    require_folder(settings.work)
    folder = hub_folder(dataset, dataset_columns, languages)
    check_places(_outputs(out, pair_format, rejected, languages), expand(reads))  # some names have languages in them
    result = mine_corpora(settings, where, quiet=False, report=console_report)
    written = _export(result.pairs, out, pair_format, languages, where)
    if rejected:
        export_pairs(result.pairs, rejected, None, *languages, rejected=True)
    about = [encoder_row(settings.encoder, languages)]
    if folder is not None:
        folder.write(pair_batches(result.pairs), result.pairs.rows, [*about, *summary(result)])
    stays = None if settings.work.startswith(scratch.name) else settings.work
    shown = "standard output" if to_standard_output else out
    summarise(result, written, shown, stays, about=about, error=to_standard_output)
    if to_standard_output:
        copy_to_output(Path(out))
    scratch.cleanup()


def _export(pairs: Dataset, out: str, format: str | None, languages: tuple[str, str], runner: Runner) -> int:
    """Write the pairs: by the runner's workers where these are on a cluster and each has files of its own."""
    from pipelines.mine.pair_export import export_pairs
    from pipelines.runners.runner import is_cluster

    if "*" not in out or not is_cluster(runner):
        return export_pairs(pairs, out, format, *languages)
    from pipelines.mine.export_transform import ExportPlan, export_on_workers

    export_on_workers(ExportPlan(pairs.url, out, format, languages), runner)
    return pairs.rows


def _given_side(side: str, files: list[str | None], lang: str | None) -> dict[str, Any]:
    """What the command line says of a side, by key."""
    named = [file for file in files if file]
    return ({f"{side}.inputs": named} if named else {}) | ({f"{side}.read.lang": lang} if lang else {})


def _inputs(tree: dict[str, Any]) -> list[str]:
    """The files that settings name; what is no name is a mistake that validation will tell."""
    parts = {name: part for name, part in tree.items() if isinstance(part, dict)}
    inputs = [parts.get(side, {}).get("inputs") for side in SIDES]
    named = [url for side in inputs if isinstance(side, list) for url in side]
    return [url for url in (*named, parts.get("threshold", {}).get("gold"), tree.get("seed")) if isinstance(url, str)]


def _outputs(out: str, pair_format: str | None, rejected: str | None, languages: tuple[str, str]) -> list[str]:
    from pipelines.mine.pair_export import written_files

    dropped = written_files(rejected, None, languages) if rejected else []
    return written_files(out, pair_format, languages) + dropped


def say_notes(notes: list[str]) -> None:
    """What a person should know of a run, on stderr."""
    from rich.console import Console

    for note in notes:
        Console(stderr=True).print(f"note: {note}", style="yellow", highlight=False, soft_wrap=True, markup=False)


def console_report(stage: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"[bold]{stage}")


def work_beside(out: str) -> str:
    """`pairs.tsv.gz` has its work in `pairs.work`, and so has every other output of that name."""
    folder, slash, name = out.rpartition("/")
    return f"{folder}{slash}{PurePosixPath(name.replace('*', 'N')).name.split('.')[0] or 'mine'}.work"


def _reviewed(chosen: dict[str, Any], review: str) -> dict[str, Any]:
    """The threshold of a review in place of every other; the probe pairs of that mine stay in its graph."""
    from mining.errors import InputError
    from pipelines.mine.work_folder import reviewed_threshold

    if {"threshold.at_least", "threshold.top", "threshold.gold"} & chosen.keys():
        raise InputError("--threshold-from takes the place of --threshold, --top and --gold; leave them out")
    kept = {at: value for at, value in chosen.items() if at != "threshold.precision"}
    return kept | {"threshold.at_least": reviewed_threshold(review, chosen["work"]), "pairs": "pairs-reviewed"}


def show(title: str | None, rows: Iterable[tuple[str, str]], *, error: bool = False) -> None:
    """Print a table of names and figures; what is too long for the terminal goes on below, and nothing is cut off.

    With `error` on standard error, where standard output is for something else.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", justify="right")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text, because names of files may hold what rich takes for markup
    Console(stderr=error).print(table)
