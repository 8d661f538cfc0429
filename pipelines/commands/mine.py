"""`twinlode mine`: two corpora in, translation pairs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pipelines.commands.console_output import console_report, say_notes
from pipelines.commands.derived import GivenOptions, key, refuse_mistakes, validated, with_settings
from pipelines.commands.options import (
    CORPUS_OPTIONS,
    PAIR_SEARCH_OPTIONS,
    DatasetColumnsOption,
    DatasetOption,
    FiltersOption,
    RejectedOption,
    RunnerOption,
    RunnerSetOption,
    ThresholdFromOption,
    chosen_filters,
    hub_folder,
)
from pipelines.mine.job_defaults import SIDES
from pipelines.mine.mine_settings import JobSettings
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from pipelines.commands.standard_streams import OutputFile
    from pipelines.datasets.manifest import Dataset
    from pipelines.runners.runner import Runner

OPTIONS = {
    **CORPUS_OPTIONS,
    **PAIR_SEARCH_OPTIONS,
    "trust_remote_code": key("trust_remote_code"),
    "rescore": key("rescore"),
    "classifier": key("classifier"),
    "dtype": key("dtype"),
    "compute_dtype": key("compute_dtype"),
}

Corpus = Annotated[
    str | None, typer.Argument(help="A file, a URL, a quoted glob (gz, bz2, xz and zst, too), or - for stdin.")
]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", help="Pairs: .tsv, .parquet, .jsonl or .tmx, or - for stdout; a * makes one file a shard."
    ),
]
MoreFiles = Annotated[list[str] | None, typer.Option(help="More files of this side (repeatable).")]


@with_settings(JobSettings, OPTIONS)
def command(
    source: Corpus = None,
    target: Corpus = None,
    *,
    out: Out,
    src: MoreFiles = None,
    tgt: MoreFiles = None,
    work: Annotated[
        str | None,
        typer.Option(help="Work folder (any fsspec URL); reruns continue what is in it. Default: beside --out."),
    ] = None,
    threshold_from: ThresholdFromOption = None,
    filters: FiltersOption = None,
    rejected: RejectedOption = None,
    pair_format: Annotated[str | None, typer.Option(help="Pair format where --out does not tell: moses.")] = None,
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    chosen: GivenOptions,
) -> None:
    """Mine translation pairs from text: prepare, embed, graph and mine in one command.

    Run again to continue after an interruption: whatever is complete in the work folder is kept. With --threshold-from
    all other options stay those of the mine that was reviewed; its pairs stay, too.

    \b
    Examples:
      twinlode mine en.txt de.txt -o pairs.tsv
      twinlode mine 'en/*.txt.gz' de.txt.zst -o good.parquet --precision 0.95 \\
          --seed-pairs known.tsv --src-lang en --tgt-lang de
      zcat en.txt.gz | twinlode mine - de.txt.gz -o - | head
    """
    quiet_beam()
    from pipelines.commands.encoder_figures import encoder_row
    from pipelines.commands.mine_summary import foreign_sentences, summarise, summary
    from pipelines.commands.partitioned_options import unused_options
    from pipelines.commands.places import work_beside
    from pipelines.commands.standard_streams import keep_input, output_file, require_one_input
    from pipelines.mine.pair_stage import pair_batches
    from pipelines.mine.text_job import mine_corpora
    from pipelines.runners.runner import load_runner

    given = {"source": [source, *(src or [])], "target": [target, *(tgt or [])]}
    require_one_input([file for files in given.values() for file in files])
    with output_file(out, "pairs.tsv") as output:
        chosen |= {"work": work or work_beside(output.path)} | chosen_filters(filters)
        kept = {side: keep_input(files, output.local_folder(chosen["work"])) for side, files in given.items()}
        chosen |= {f"{side}.inputs": named for side, files in kept.items() if (named := [*filter(None, files)])}
        _take_threshold(chosen, threshold_from)
        tree = chosen.tree()
        outputs, where = MineOutputs(output, pair_format, rejected), load_runner(runner, runner_set or [])
        settings = _settings(tree, outputs, where)
        languages = settings.source.read.lang, settings.target.read.lang
        hub = hub_folder(dataset, dataset_columns, languages)
        result = mine_corpora(settings, where, quiet=False, report=console_report)
        written = outputs.write(result.pairs, languages, where)
        about = [encoder_row(settings.encoder, languages)]
        if hub is not None:
            hub.write(pair_batches(result.pairs), result.pairs.rows, [*about, *summary(result)])
        stays = None if settings.work.startswith(output.scratch) else settings.work
        summarise(result, written, output.shown, stays, about=about, error=output.is_standard)
        say_notes([*foreign_sentences(settings, result), *unused_options(settings, result.graph)])


class MineOutputs(NamedTuple):
    """The files that a mine writes: pairs, and where asked for what filters dropped."""

    pairs: OutputFile
    format: str | None
    rejected: str | None

    def files(self, languages: tuple[str, str]) -> list[str]:
        from pipelines.mine.pair_export import written_files

        dropped = written_files(self.rejected, None, languages) if self.rejected else []
        return written_files(self.pairs.path, self.format, languages) + dropped

    def check(self, inputs: list[str], languages: tuple[str, str]) -> None:
        """Refuse to write over what is read, and several files to one stream."""
        from mining.errors import InputError
        from mining.paths import expand
        from pipelines.commands.places import check_places

        if self.pairs.is_standard and self.pairs.path not in self.files(languages):
            raise InputError(f"--pair-format {self.format} makes several files; name them, as `-` is one stream")
        check_places(self.files(languages), expand(inputs), shards=True)

    def write(self, pairs: Dataset, languages: tuple[str, str], runner: Runner) -> int:
        """Write the pairs: by the runner's workers where these are on a cluster and each has files of its own."""
        from pipelines.mine.pair_export import export_pairs
        from pipelines.runners.runner import is_cluster

        if self.rejected:
            export_pairs(pairs, self.rejected, None, *languages, rejected=True)
        if "*" not in self.pairs.path or not is_cluster(runner):
            return export_pairs(pairs, self.pairs.path, self.format, *languages)
        from pipelines.mine.export_transform import ExportPlan, export_on_workers

        export_on_workers(ExportPlan(pairs.url, self.pairs.path, self.format, languages), runner)
        return pairs.rows


def _settings(tree: dict[str, Any], outputs: MineOutputs, runner: Runner) -> JobSettings:
    """The settings, with what the text and the default encoder tell; places are checked before any text is read."""
    from pipelines.commands.partitioned_options import require_use
    from pipelines.commands.places import require_folder
    from pipelines.mine.job_defaults import columns_read, fill_in_choices, fill_in_languages
    from pipelines.runners.runner import require_reachable

    reads = _inputs(tree)
    require_reachable(runner, [*outputs.files(SIDES), *reads])
    outputs.check(reads, SIDES)
    refuse_mistakes(JobSettings, OPTIONS, tree, "mine")
    say_notes(columns_read(tree))  # before a language that cannot be told, of which it may be the reason
    say_notes([*fill_in_languages(tree), *fill_in_choices(tree)])
    settings = validated(JobSettings, OPTIONS, tree, "mine")
    require_use(settings)
    require_folder(settings.work)
    outputs.check(reads, (settings.source.read.lang, settings.target.read.lang))  # some names have languages in them
    return settings


def _inputs(tree: dict[str, Any]) -> list[str]:
    """The files that settings name; what is no name is a mistake that validation will tell."""
    parts = {name: part for name, part in tree.items() if isinstance(part, dict)}
    inputs = [parts.get(side, {}).get("inputs") for side in SIDES]
    named = [url for side in inputs if isinstance(side, list) for url in side]
    return [url for url in (*named, parts.get("threshold", {}).get("gold"), tree.get("seed")) if isinstance(url, str)]


def _take_threshold(chosen: GivenOptions, review: str | None) -> None:
    """The threshold of a review in place of every other; the probe pairs of that mine stay in its graph."""
    from mining.errors import InputError
    from pipelines.mine.work_folder import reviewed_threshold

    fixed = {"threshold.at_least", "threshold.top", "threshold.gold"} & chosen.keys()
    if review is None:
        if "seed" in chosen and fixed:
            raise InputError("--seed-pairs is for --precision, and not used by --threshold, --top and --gold")
        return
    if fixed:
        raise InputError("--threshold-from takes the place of --threshold, --top and --gold; leave them out")
    chosen.pop("threshold.precision", None)
    chosen |= {"threshold.at_least": reviewed_threshold(review, chosen["work"]), "pairs": "pairs-reviewed"}
