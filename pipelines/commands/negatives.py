"""`twinlode negatives`: hard negatives for training, from bitext."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    bitext: Annotated[
        list[str], typer.Argument(help="Parallel text that `train` reads, such as de-en.tsv; or a glob.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the triples.")],
    encoder: Annotated[
        str | None, typer.Option(help="Whose neighbours are hard: folder or URL; default: the built-in one.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting: graph, edits, pairs, share, k, random_seed.")
    ] = None,
) -> None:
    """Write a near sentence that is no translation beside each pair, for training on triples.

    Two kinds: neighbours in the graph of the two sides, and edits of the English side (another number, name,
    negation). Train on the files with `format: nli` and an objective on triples, such as `split`.

    \b
    Example:
      twinlode negatives known/en-de.tsv --out negatives --set edits=false
    """
    from encoder import default
    from encoder.inference import Encoder
    from encoder.settings import apply_override, validate_settings
    from pipelines.commands.console_output import show
    from pipelines.loop.bitext_negatives import BitextNegativeSettings, write_negatives

    tree: dict[str, object] = {"data": {"corpora": [{"path": path} for path in bitext]}}
    for override in set_ or []:
        apply_override(tree, override)
    settings = validate_settings(BitextNegativeSettings, tree, "--set")
    loaded = Encoder.load(encoder or default.model_folder()) if settings.graph else None
    written = write_negatives(settings, loaded, out)
    show(f"triples in {out}", [(part.path.name, f"{part.triples:,} of {part.pairs:,} pairs") for part in written])
