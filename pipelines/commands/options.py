"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mining.filters import FilterSettings

RunnerOption = Annotated[str, typer.Option(help="local, flink, spark, dataflow, or a YAML file (configs/runners).")]
RunnerSetOption = Annotated[
    list[str] | None, typer.Option("--runner-set", help="Override a runner setting, such as processes=2.")
]
EncoderOption = Annotated[str, typer.Option(help="Encoder: a folder, a URL, or a Hugging Face model.")]
DeviceOption = Annotated[str, typer.Option(help="cpu, cuda, or auto.")]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads of each worker; all cores unless told.")]
DtypeOption = Annotated[str, typer.Option(help="Type of stored vectors: float32, or float16 for half the disk.")]

ThresholdFromOption = Annotated[
    str | None, typer.Option(help="Take the threshold from a review: the review.json that `twinlode review` writes.")
]


def quiet_beam() -> None:
    """Beam warns of optional packages when it is imported."""
    import logging

    logging.getLogger().setLevel(logging.ERROR)


def read_filters(choice: str) -> FilterSettings:
    """`none`, `standard`, or a YAML file of filter settings."""
    from encoder.settings import load_settings
    from mining.filters import FilterSettings

    if choice == "none":
        return FilterSettings.none()
    return FilterSettings() if choice == "standard" else load_settings(FilterSettings, choice)
