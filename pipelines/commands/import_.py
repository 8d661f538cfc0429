"""`twinlode import`: a sentence-transformers or Hugging Face encoder as a checkpoint."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class PoolingChoice(StrEnum):
    folder = "folder"
    mean = "mean"
    cls = "cls"
    first_last = "first-last"


def command(
    source: Annotated[str, typer.Argument(help="A sentence-transformers or Hugging Face folder, or a hub id.")],
    out: Annotated[Path, typer.Option(help="The checkpoint folder to write, a new one.")],
    pooling: Annotated[
        PoolingChoice, typer.Option(help="Sentence vector; folder = as it says.")
    ] = PoolingChoice.folder,
    trust_remote_code: Annotated[bool, typer.Option(help="Run Python code that comes with the model.")] = False,
) -> None:
    """Make a twinlode checkpoint of an encoder that transformers or sentence-transformers can load.

    \b
    Example:
      twinlode import sentence-transformers/LaBSE --out encoders/labse
    """
    from encoder.exchange import import_encoder
    from encoder.models import PretrainedSettings
    from mining.locks import held_beside
    from pipelines.commands.console_output import show

    settings = PretrainedSettings(source=source, pooling=pooling.value, trust_remote_code=trust_remote_code)
    with held_beside(out):
        imported = import_encoder(source, out, settings=settings)
    rows = [("folder", str(imported.folder)), ("dimensions", str(imported.dim)), ("fingerprint", imported.fingerprint)]
    show("imported", rows)
