"""`twinlode review`: a person marks sampled pairs, and a threshold comes out."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Annotated

import typer

from pipelines.runners.quiet import quiet_beam


def command(
    workdir: Annotated[str, typer.Argument(help="The --work folder of a mine.")],
    precision: Annotated[
        float | None, typer.Option(help="Precision for the threshold to reach. Default: as last time, or 0.9.")
    ] = None,
    sample: Annotated[int, typer.Option(help="Pairs to mark; fixed when the review begins.", min=10)] = 200,
    port: Annotated[int, typer.Option(help="Port of the page on this machine; 0 takes any.", min=0, max=65535)] = 0,
) -> None:
    """Mark sampled pairs right or wrong on a local web page: y, n, s to skip, u to undo.

    The marks become a precision curve and a threshold in WORKDIR/review.json, for `mine --threshold-from`; of an
    alignment it is one of the pairs' scores. Every key press is on disk at once; stop with Ctrl-C and go on any time.

    \b
    Example:
      twinlode review pairs.work --precision 0.95
    """
    quiet_beam()
    from rich.console import Console

    from mining.errors import InputError
    from mining.locks import held_folder
    from pipelines.commands.console_output import show
    from pipelines.review.review_session import Session, review_folder
    from pipelines.review.server import ReviewServer

    if precision is not None and not 0 < precision <= 1:
        raise InputError(f"--precision {precision:g}: it must be above 0 and at most 1")
    with held_folder(review_folder(workdir)), ReviewServer(Session(workdir, sample, precision), port) as server:
        session = server.session
        Console(stderr=True).print(
            f"open {server.url} in a browser on this machine; Ctrl-C ends the review", style="bold"
        )
        for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with Ctrl-C ignored
            signal.signal(number, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one must not break the end off
            signal.signal(number, signal.SIG_IGN)
    result = session.result
    kept = f"{result.threshold:.4f}, keeps {result.kept:,} pairs" if result.threshold is not None else "none reaches it"
    rows = [
        ("right", f"{result.right:,}"),
        ("wrong", f"{result.wrong:,}"),
        ("skipped", f"{result.skipped:,}"),
        (f"threshold for {result.wanted:.0%}", kept),
        ("saved in", session.result_url),
    ]
    show("reviewed", rows)
