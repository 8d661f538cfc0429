"""`twinlode train-classifier`: a pair classifier for an encoder, from bitext."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    config: Annotated[Path, typer.Argument(help="Settings (YAML): bitext and tasks, see configs/classifier.yaml.")],
    encoder: Annotated[str | None, typer.Option(help="Encoder: folder or URL; default: the built-in one.")] = None,
    out: Annotated[
        str | None, typer.Option(help="Its folder; default: classifier, in --encoder. Needed for the built-in encoder.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting, such as trees=200.")] = None,
) -> None:
    """Train a pair classifier: which of an encoder's candidate pairs are translations.

    No labels are needed: bitext is made into small mining and cleaning tasks whose answers are known.

    \b
    Example:
      twinlode train-classifier classifier.yaml --out classifier
    """
    from rich.console import Console

    from encoder import default
    from encoder.inference import Encoder
    from encoder.settings import load_settings
    from mining.errors import InputError
    from mining.files import require_writable
    from mining.locks import held_folder
    from mining.scoring.classifier import ABOUT, FOLDER, Use
    from pipelines.clean.classifier_training import ClassifierSettings, train_classifier
    from pipelines.commands.console_output import show

    settings = load_settings(ClassifierSettings, config, set_ or [])
    if encoder is None and out is None:
        raise InputError("name a folder with --out: that of the built-in encoder belongs to the installation")
    encoder = encoder or str(default.model_folder())
    folder = out or f"{encoder.rstrip('/')}/{FOLDER}"
    require_writable(f"{folder}/{ABOUT}")
    console = Console(stderr=True)
    loaded = Encoder.load(encoder)
    with held_folder(folder):
        classifier = train_classifier(settings, loaded, lambda line: console.print(line, highlight=False))
        classifier.save(folder)
    rows = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in classifier.about.items()]
    for use in Use:
        best = list(classifier.importance(use).items())[:5]
        rows += [(f"{use}: {name}", f"{100 * share:.0f}% of the gain") for name, share in best]
    show(f"classifier in {folder}", [row for row in rows if row[0] != "settings"])
