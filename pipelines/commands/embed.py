"""`twinlode embed`: a dataset of sentences to a dataset of vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.commands.options import (
    DeviceOption,
    DtypeOption,
    EncoderOption,
    RunnerOption,
    RunnerSetOption,
    ThreadsOption,
    TrustOption,
)
from pipelines.runners.quiet import quiet_beam


def command(
    sentences: Annotated[str, typer.Argument(help="Folder of a sentences dataset, made by prepare.")],
    encoder: EncoderOption,
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the vectors.")],
    dtype: DtypeOption = "float32",
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    trust_remote_code: TrustOption = False,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
) -> None:
    """Embed prepared sentences. Finished shards are not made again.

    Example: twinlode embed work/src --encoder runs/small/best --out work/src-vectors
    """
    quiet_beam()
    from encoder.settings import validate_settings
    from pipelines.commands.places import require_folder
    from pipelines.commands.prepare import summarise
    from pipelines.embed.vector_stage import EmbedSettings, embed
    from pipelines.runners.runner import accelerator_of, load_runner, require_reachable

    require_folder(out)
    where = load_runner(runner, runner_set or [])
    require_reachable(where, [sentences, encoder, out])
    tree = {"sentences": sentences, "encoder": encoder, "out": out, "dtype": dtype, "device": device}
    options = tree | {"threads": threads, "trust_remote_code": trust_remote_code, "accelerator": accelerator_of(where)}
    summarise(embed(validate_settings(EmbedSettings, options, "embed"), where, quiet=False))
