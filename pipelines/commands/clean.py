"""`twinlode clean`: which pairs of a bitext are translations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import typer

from pipelines.clean.clean_settings import CleanSettings
from pipelines.commands.derived import GivenOptions, key, validated, with_settings
from pipelines.commands.light_imports import import_trees
from pipelines.commands.options import (
    DatasetColumnsOption,
    DatasetOption,
    FiltersOption,
    RunnerOption,
    RunnerSetOption,
    chosen_filters,
    hub_folder,
)
from pipelines.runners.quiet import quiet_beam

if TYPE_CHECKING:
    from mining.pair_formats import Format
    from pipelines.clean.clean_stage import Cleaned
    from pipelines.commands.standard_streams import OutputFile
    from pipelines.datasets.hub_folder import HubFolder
    from pipelines.runners.runner import Runner

OPTIONS = {
    "src_lang": key("bitext.src_lang"),
    "tgt_lang": key("bitext.tgt_lang"),
    "format": key("bitext.format"),
    "encoder": key("encoder"),
    "classifier": key("classifier"),
    "precision": key("precision"),
    "seed_pairs": key("seed_pairs.path"),
    "explain": key("explain"),
}
FEW = "too few pairs were scored ({}) to estimate how many of them are right"
_ENOUGH = 50
UNNAMED = (
    "a language cannot be told from the bitext: without --src-lang and --tgt-lang no pair is dropped for its language, "
    "and words are cut as in English"
)


@with_settings(CleanSettings, OPTIONS)
def command(
    pairs: Annotated[
        str | None,
        typer.Argument(help="The bitext: .tsv, .jsonl, .parquet, .tmx (.gz, .zst, .xz too), URL, or - (TSV)."),
    ] = None,
    *,
    out: Annotated[str, typer.Option("--out", "-o", help="Where the good pairs go; - is standard output.")],
    rejected: Annotated[str | None, typer.Option(help="Write the other rows here, with reason and line.")] = None,
    report: Annotated[str | None, typer.Option(help="Write a report (HTML): reasons, probabilities, examples.")] = None,
    columns: Annotated[
        tuple[str, str] | None, typer.Option(help="Columns of the texts: numbers from 1 (TSV), names (JSONL, Parquet).")
    ] = None,
    out_format: Annotated[str | None, typer.Option(help="Format of --out where its name does not tell.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add probability, cosine and margin to each row.")] = False,
    filters: FiltersOption = None,
    dataset: DatasetOption = None,
    dataset_columns: DatasetColumnsOption = "src_text",
    work: Annotated[str | None, typer.Option(help="Folder (or URL) for chunks; default: temporary.")] = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    chosen: GivenOptions,
) -> None:
    """Score every pair of a bitext and keep those that are translations; every other row has its reason.

    A file of pairs is read as a stream, in chunks; the margin and the rivals of a pair are those of its chunk.

    \b
    Example:
      twinlode clean crawl.tsv.gz -o clean.tsv --rejected rejected.tsv \\
          --src-lang en --tgt-lang de
    """
    quiet_beam()
    from mining.locks import held_folder
    from pipelines.clean.bitext_languages import with_languages
    from pipelines.commands.console_output import say_notes, show
    from pipelines.commands.encoder_figures import encoder_row, warnings
    from pipelines.commands.standard_streams import output_file
    from pipelines.runners.runner import load_runner, require_reachable

    with output_file(out, "kept.tsv") as output:
        chosen |= {"work": work or output.scratch} | _filters(filters)
        settings = _settings(chosen, pairs, columns, output)
        outputs = CleanOutputs(output, out_format, rejected, report, scores, settings.explain)
        outputs.kind()  # an error before anything is read
        bitext, notes = with_languages(settings.bitext)
        explain = settings.explain or report is not None
        settings = settings.model_copy(update={"bitext": bitext, "explain": explain})
        where = load_runner(runner, runner_set or [])
        require_reachable(where, [settings.work, settings.encoder, *outputs.check(settings)])
        languages = settings.bitext.src_lang, settings.bitext.tgt_lang
        hub = hub_folder(dataset, dataset_columns, languages)
        known = [lang for lang in languages if lang]
        with held_folder(settings.work):
            cleaned = _cleaned(settings, where)
            outputs.write(settings, cleaned, pairs or settings.bitext.path)
            about = [encoder_row(settings.encoder, known), *_summary(cleaned)]
            if hub is not None:
                _write_hub(hub, cleaned, about)
        say_notes([*notes, *warnings(settings.encoder, known), *_doubts(cleaned, languages)])
        show("cleaned", [*about, (f"kept in {output.shown}", f"{cleaned.kept:,}")], error=output.is_standard)


def _settings(
    chosen: GivenOptions, pairs: str | None, columns: tuple[str, str] | None, output: OutputFile
) -> CleanSettings:
    """Of the options; standard input is TSV unless --format says otherwise."""
    from pipelines.commands.standard_streams import STANDARD, keep_input

    if columns:
        chosen["bitext.columns"] = columns
    if pairs is not None:
        (chosen["bitext.path"],) = keep_input([pairs], Path(output.scratch))
    if pairs == STANDARD:
        chosen.setdefault("bitext.format", "tsv")
    return validated(CleanSettings, OPTIONS, chosen.tree(), "clean")


def _cleaned(settings: CleanSettings, runner: Runner) -> Cleaned:
    from pipelines.clean.clean_stage import clean

    with catch_warnings():
        filterwarnings("ignore", "without lang=")  # a note says it
        if settings.explain:
            import_trees()
        return clean(settings, runner)


def _filters(choice: str | None) -> dict[str, Any]:
    chosen = chosen_filters(choice)
    if chosen:
        chosen["filters"]["repeated_target"] = None  # a bitext may repeat a target
    return chosen


class CleanOutputs(NamedTuple):
    """The files of a clean: kept pairs, and where asked for rejected rows and a report."""

    kept: OutputFile
    format: str | None
    rejected: str | None
    report: str | None
    scores: bool
    explain: bool

    def check(self, settings: CleanSettings) -> list[str]:
        """What will be written; an error where that would overwrite what is read."""
        from mining.errors import InputError
        from mining.pair_formats import Format
        from pipelines.clean.cleaned_files import check_outputs
        from pipelines.commands.places import check_places

        kind, seed = self.kind(), settings.seed
        if self.kept.is_standard and kind == Format.MOSES:
            raise InputError("standard output is one file, and a Moses pair is two; name a prefix")
        written = check_outputs(self.kept.path, self.rejected, kind, settings.bitext, scores=self.scores)
        written += [self.report] if self.report else []
        check_places(written, [*settings.bitext.files, *(seed.files if seed else [])])
        return written

    def write(self, settings: CleanSettings, cleaned: Cleaned, name: str) -> None:
        from pipelines.clean.clean_stage import read_scored
        from pipelines.clean.cleaned_files import write_kept, write_rejected
        from pipelines.report.cleaned_bitext import write_clean_report

        rows = read_scored(cleaned)
        write_kept(self.kept.path, rows, settings.bitext, format=self.kind(), scores=self.scores)
        if self.rejected is not None:
            write_rejected(self.rejected, read_scored(cleaned), self.explain)
        if self.report is not None:
            write_clean_report(self.report, name, cleaned, _summary(cleaned), read_scored(cleaned))

    def kind(self) -> Format | None:
        from mining.pair_formats import known_format

        return known_format(self.format) if self.format else None


def _write_hub(hub: HubFolder, cleaned: Cleaned, about: list[tuple[str, str]]) -> None:
    from pipelines.clean.clean_stage import read_scored
    from pipelines.clean.cleaned_files import kept_pairs

    hub.write(kept_pairs(read_scored(cleaned)), cleaned.kept, about)


def _doubts(cleaned: Cleaned, languages: tuple[str | None, str | None]) -> list[str]:
    few = [FEW.format(scored_pairs(cleaned))] if scored_pairs(cleaned) < _ENOUGH else []
    return few if all(languages) else [*few, UNNAMED]


def scored_pairs(cleaned: Cleaned) -> int:
    from pipelines.clean.clean_stage import UNLIKELY

    return cleaned.kept + cleaned.reasons.get(UNLIKELY, (0, []))[0]


def _summary(cleaned: Cleaned) -> list[tuple[str, str]]:
    table = [("rows", f"{cleaned.rows:,}")]
    for reason, (count, lines) in cleaned.reasons.items():
        first = ", ".join(map(str, lines))
        table.append((f"rejected: {reason.replace('_', ' ')}", f"{count:,} (line {first}{' ..' if count > 3 else ''})"))
    if scored_pairs(cleaned) >= _ENOUGH:
        table.append(("right, of those scored (estimate)", f"{cleaned.share:.1%}"))
    if cleaned.kept and scored_pairs(cleaned) >= _ENOUGH:
        table.append(("least probability", f"{cleaned.point.probability:.3f}"))
        table.append(("estimated precision", f"{cleaned.point.precision:.4f}"))
    return [*table, *_checked(cleaned)]


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
