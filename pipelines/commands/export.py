"""`twinlode export`: an encoder for sentence-transformers or Hugging Face, or a smaller one."""

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
    quantize: Annotated[bool, typer.Option("--quantize", help="A smaller twinlode encoder; bags only.")] = False,
    dim: Annotated[int | None, typer.Option(help="--quantize: keep this many dimensions; default: all.")] = None,
    megabytes: Annotated[float, typer.Option(help="--quantize: the encoder is at most so large.", min=0.1)] = 28.0,
    trust_remote_code: Annotated[bool, typer.Option(help="Run Python code that comes with the model.")] = False,
) -> None:
    """Write an encoder as a folder that sentence-transformers or transformers loads, with the same vectors.

    With --quantize it stays an encoder of twinlode, far smaller and with nearly the same vectors. Where the data
    of its training run is at hand, it says which embeddings are used most, and these lose least.

    \b
    Example:
      twinlode export runs/small/best --out exported \\
          --format sentence-transformers
    """
    if quantize:
        _quantize(encoder, out, dim, megabytes)
        return

    from encoder.exchange import export_encoder
    from mining.locks import held_beside
    from pipelines.commands.console_output import show

    with held_beside(out):
        exported = export_encoder(encoder, form.value, out, trust_remote_code=trust_remote_code)
    call = "AutoModel.from_pretrained" if form is Form.huggingface else "SentenceTransformer"
    rows = [
        ("folder", str(exported.folder)),
        ("architecture", exported.architecture),
        ("load with", f'{call}("{out}"{"" if exported.standard else ", trust_remote_code=True"})'),
        ("needs twinlode", "no" if exported.standard else "yes: its segmentation or model is our own code"),
    ]
    if exported.segments:
        rows.append(("languages", 'encode(sentences, lang="zh"); without lang it segments as English'))
    show("exported", rows)


def _quantize(encoder: str, out: Path, dim: int | None, megabytes: float) -> None:
    from encoder.quantization import quantize_encoder
    from mining.locks import held_beside
    from pipelines.commands.console_output import show

    with held_beside(out):
        made = quantize_encoder(encoder, out, dim=dim, megabytes=megabytes)
    rows = [
        ("folder", str(made.folder)),
        ("size", f"{made.megabytes:.1f} MB"),
        ("dimensions", str(made.dim)),
        ("lost by the codes", f"{made.error:.1%} of the embeddings' energy, by their use"),
        ("embeddings dropped", f"{made.dropped:.1%}"),
        ("fingerprint", made.fingerprint[:8]),
    ]
    show("quantized", rows)
