"""`twinlode embed`: a dataset of sentences to a dataset of vectors."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipelines.commands.derived import ConfigOption, SetOption, key, settings_tree, validated, with_settings
from pipelines.commands.options import RunnerOption, RunnerSetOption
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.runners.quiet import quiet_beam

OPTIONS = {name: key(name) for name in ("encoder", "dtype", "device", "threads", "trust_remote_code")}


@with_settings(EmbedSettings, OPTIONS)
def command(
    sentences: Annotated[str, typer.Argument(help="Folder of a sentences dataset, made by prepare.")],
    out: Annotated[str, typer.Option(help="Folder (any fsspec URL) of the vectors.")],
    config: ConfigOption = None,
    set_: SetOption = None,
    runner: RunnerOption = "local",
    runner_set: RunnerSetOption = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """Embed prepared sentences. Finished shards are not made again.

    Example: twinlode embed work/src --encoder runs/small/best --out work/src-vectors
    """
    quiet_beam()
    from pipelines.commands.places import require_folder
    from pipelines.commands.prepare import summarise
    from pipelines.embed.vector_stage import embed
    from pipelines.runners.runner import accelerator_of, load_runner, require_reachable

    where = load_runner(runner, runner_set or [])
    chosen |= {"sentences": sentences, "out": out, "accelerator": accelerator_of(where)}
    settings = validated(EmbedSettings, OPTIONS, settings_tree(chosen, config, set_), "embed")
    require_folder(out)
    require_reachable(where, [sentences, settings.encoder, out])
    summarise(embed(settings, where, quiet=False))
