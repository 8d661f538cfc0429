"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.commands.derived import key
from pipelines.mine.job_defaults import SIDES

if TYPE_CHECKING:
    from pipelines.datasets.hub_folder import HubFolder

RunnerOption = Annotated[str, typer.Option(help="local, flink, spark, dataflow, or a YAML file (configs/runners).")]
RunnerSetOption = Annotated[
    list[str] | None, typer.Option("--runner-set", help="Override a runner setting, such as processes=2.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the encoder.", show_default=False)
]

ThresholdFromOption = Annotated[
    str | None, typer.Option(help="Take the threshold from a review: the review.json that `twinlode review` writes.")
]
FiltersOption = Annotated[
    str | None, typer.Option(help="none, standard, or a YAML file of filter settings. Default: standard.")
]
RejectedOption = Annotated[str | None, typer.Option(help="Write the pairs that filters drop here, with the reason.")]

# Options of the commands that read two corpora, and of those that search pairs, by where they go in the settings.
CORPUS_OPTIONS = {
    "src_lang": key("source.read.lang"),
    "tgt_lang": key("target.read.lang"),
    "encoder": key("encoder"),
    "format": key(*(f"{side}.read.format" for side in SIDES)),
    "column": key(*(f"{side}.read.column" for side in SIDES)),
    "ref_column": key(*(f"{side}.read.ref_column" for side in SIDES)),
    "max_chars": key(*(f"{side}.read.max_chars" for side in SIDES)),
    "truncated": key(*(f"{side}.read.truncated" for side in SIDES)),
    "lang_filter": key(*(f"{side}.lang_filter" for side in SIDES)),
    "device": key("device"),
    "threads": key("threads"),
}
PAIR_SEARCH_OPTIONS = {
    "threshold": key("threshold.at_least"),
    "top": key("threshold.top"),
    "gold": key("threshold.gold"),
    "precision": key("threshold.precision", flags=["--target-precision"]),
    "seed_pairs": key("seed"),
    "k": key("k"),
    "search": key("search"),
    "copies": key("copies"),
    "codebook": key("codebook"),
    "margin": key("margin"),
    "retrieval": key("retrieval"),
    "rows_per_shard": key("rows_per_shard"),
    "device": key("device"),
    "threads": key("threads"),
    "memory": key("memory"),
}

DatasetOption = Annotated[
    str | None, typer.Option(help="Write the pairs as a folder for Hugging Face's `datasets`, too, with a card.")
]
DatasetColumnsOption = Annotated[
    str,
    typer.Option(
        help="Columns there: src_text (and trg_text, score, origin), sentence1 (and sentence2), or translation."
    ),
]


def hub_folder(url: str | None, columns: str, languages: tuple[str | None, str | None]) -> HubFolder | None:
    """Where --dataset goes, checked; None where it was not given."""
    from mining.errors import InputError
    from pipelines.datasets.hub_folder import Columns, HubFolder

    if url is None:
        return None
    if columns not in set(Columns):
        raise InputError(f"--dataset-columns is one of {', '.join(Columns)}, not {columns}")
    source, target = languages
    if not source or not target:
        raise InputError("--dataset needs --src-lang and --tgt-lang")
    if columns == Columns.translation and source == target:
        raise InputError(f"--dataset-columns translation needs two different languages, not {source} twice")
    folder = HubFolder(url.rstrip("/"), Columns(columns), (source, target))
    folder.check()
    return folder


def chosen_filters(choice: str | None) -> dict[str, Any]:
    """The settings that --filters stands for: `none`, `standard`, or a YAML file; nothing where it was not given."""
    from encoder.settings import load_settings
    from mining.filters import FilterSettings

    if choice is None:
        return {}
    if choice in ("none", "standard"):
        chosen = FilterSettings.none() if choice == "none" else FilterSettings()
    else:
        chosen = load_settings(FilterSettings, choice)
    return {"filters": chosen.model_dump(mode="json")}
