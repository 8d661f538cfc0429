"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mining.filters import FilterSettings
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
FiltersOption = Annotated[str, typer.Option(help="none, standard, or a YAML file of filter settings.")]
RejectedOption = Annotated[str | None, typer.Option(help="Write the pairs that filters drop here, with the reason.")]

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


def read_filters(choice: str) -> FilterSettings:
    """`none`, `standard`, or a YAML file of filter settings."""
    from encoder.settings import load_settings
    from mining.filters import FilterSettings

    if choice == "none":
        return FilterSettings.none()
    return FilterSettings() if choice == "standard" else load_settings(FilterSettings, choice)
