"""`twinlode report`: a work folder as one HTML page."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.report import PAIRS
from pipelines.runners.quiet import quiet_beam


def command(
    workdir: Annotated[str, typer.Argument(help="The --work folder of a mine, or the folder of a demo or a loop.")],
    out: Annotated[str | None, typer.Option(help="Where to write it. Default: WORKDIR/report.html.")] = None,
    pairs: Annotated[int, typer.Option(help="Pairs in the page, sampled evenly over score bands.", min=0)] = PAIRS,
) -> None:
    """Write everything about the mines of a folder into one HTML page that works offline.

    Scores, yield, precision, what was dropped and why, the pairs themselves with a search box, lengths, hubs, sources,
    rounds of a loop, settings and lineage.

    \b
    Example:
      twinlode report pairs.work
    """
    quiet_beam()
    from rich.console import Console

    from mining.errors import InputError
    from mining.paths import extension, resolve
    from pipelines.commands.console_output import show
    from pipelines.commands.places import check_places
    from pipelines.report import write_report

    if out is not None:
        if extension(out) not in ("html", "htm"):
            raise InputError(f"--out {out}: the report is an HTML page; give it a name that ends with .html")
        check_places([out], [])
    with Console(stderr=True).status("reading the mines"):
        written = write_report(workdir, out, pairs)
    filesystem, path = resolve(written)
    show("report", [("page", written), ("size", f"{filesystem.size(path) / 1e6:.1f} MB")])
