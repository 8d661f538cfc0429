"""`twinlode inspect`: what a file or folder is."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.runners.quiet import quiet_beam


def command(
    path: Annotated[str, typer.Argument(help="A file, folder or URL; for Moses the part before .de and .en.")],
    rows: Annotated[int, typer.Option(help="First rows to show.", min=0)] = 5,
) -> None:
    """Describe any file or folder of twinlode: what it is, rows, settings, fingerprints, first rows.

    Datasets, encoders (ours, sentence-transformers, Hugging Face), graphs, pairs in every format, vectors, rounds,
    loops, work folders.

    Example: twinlode inspect work/pairs
    """
    quiet_beam()
    from rich.console import Console
    from rich.text import Text

    from pipelines.commands.mine import show
    from pipelines.inspection import describe
    from pipelines.runners.console_table import show_table

    found = describe(path, rows)
    console = Console()
    console.print(Text.assemble((found.what, "bold"), f": {path}"), soft_wrap=True)
    show(None, found.facts)
    if found.rows:
        show_table([list(found.columns), *map(list, found.rows)], console, texts=True)
