"""`twinlode train`: a sentence encoder from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    config: Annotated[Path, typer.Argument(help="Training configuration (YAML), see configs/.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run found there is continued.")],
    minutes: Annotated[float | None, typer.Option(help="Time budget: the whole schedule is planned to it.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, for example model.dim=256.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Drop training pairs with a side in this file or glob (repeatable).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard event files.")] = False,
) -> None:
    """Train a sentence encoder on parallel text.

    DIR/best is the encoder with the highest held-out P@1, or as evaluation.sts or evaluation.task choose. On several
    GPUs: torchrun --nproc-per-node 8 -m pipelines.cli train ...

    \b
    Example:
      twinlode train configs/ems-small.yaml --out runs/small --minutes 30 \\
          --exclude 'eval/*.txt'
    """
    from encoder.settings import load_settings
    from encoder.training.training_settings import TrainSettings
    from encoder.training.watched import train_watched
    from pipelines.commands.corpus_languages import require_order
    from pipelines.commands.places import require_folder
    from pipelines.evaluation.dev_score import measure_of

    require_folder(str(out))
    overrides = list(set_ or [])
    if minutes is not None:
        overrides += ["limits.steps=null", "limits.epochs=null", "limits.examples=null", f"limits.minutes={minutes}"]
    settings = load_settings(TrainSettings, config, overrides)
    require_order(settings.data)
    measure = measure_of(settings.evaluation)
    excluded = _expand(exclude or [])
    train_watched(settings, out, exclude=excluded, strict=strict, tensorboard=tensorboard, measure=measure)


def _expand(patterns: list[str]) -> list[str]:
    from mining.errors import InputError
    from mining.paths import matching

    paths = []
    for pattern in patterns:
        found = matching(pattern)
        if not found:
            raise InputError(f"--exclude {pattern}: no such file")
        paths += found
    return paths
