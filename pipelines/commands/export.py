"""`twinlode export`: an encoder for sentence-transformers or Hugging Face."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    sentence_transformers = "sentence-transformers"
    huggingface = "huggingface"


def command(
    encoder: Annotated[str, typer.Argument(help="A checkpoint folder, or its URL.")],
    out: Annotated[Path, typer.Option(help="A new folder.")],
    form: Annotated[Form, typer.Option("--format", help="The library that will load it.")] = Form.sentence_transformers,
    trust_remote_code: Annotated[bool, typer.Option(help="Run Python code that comes with the model.")] = False,
) -> None:
    """Write an encoder as a folder that sentence-transformers or transformers loads, with the same vectors.

    Example: twinlode export runs/ems/best --format sentence-transformers --out ems-st
    """
    from rich.console import Console
    from rich.table import Table

    from encoder.exchange import export_encoder

    exported = export_encoder(encoder, form.value, out, trust_remote_code=trust_remote_code)
    call = "AutoModel.from_pretrained" if form is Form.huggingface else "SentenceTransformer"
    table = Table("exported", "", show_header=False)
    table.add_row("folder", str(exported.folder))
    table.add_row("architecture", exported.architecture)
    table.add_row("load with", f'{call}("{out}"{"" if exported.standard else ", trust_remote_code=True"})')
    table.add_row("needs twinlode", "no" if exported.standard else "yes: its segmentation or model is our own code")
    if exported.segments:
        table.add_row("languages", 'encode(sentences, lang="zh"); without lang it segments as English')
    Console().print(table)
