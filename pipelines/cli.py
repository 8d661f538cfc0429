"""The `twinlode` command: one module in `pipelines/commands` for each subcommand.

Command modules import torch, Beam and our own rooms inside their functions, so `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from mining.errors import InputError
from pipelines.commands import (
    compare,
    demo,
    embed,
    export,
    graph,
    import_,
    inspect,
    loop,
    mine,
    mine_vectors,
    prepare,
    report,
    review,
    train,
)
from pipelines.commands import eval as eval_

INTERRUPTED = 130  # what a shell gives a command that Ctrl-C ended

app = typer.Typer(
    name="twinlode",
    help="Mine translation pairs from monolingual text, and train the encoders that find them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.command)
app.command("prepare")(prepare.command)
app.command("embed")(embed.command)
app.command("graph")(graph.command)
app.command("mine")(mine.command)
app.command("mine-vectors")(mine_vectors.command)
app.command("report")(report.command)
app.command("review")(review.command)
app.command("inspect")(inspect.command)
app.command("train")(train.command)
app.command("compare")(compare.command)
app.command("loop")(loop.command)
app.command("eval")(eval_.command)
app.command("export")(export.command)
app.command("import")(import_.command)


@app.callback()
def root() -> None:
    """Keeps `twinlode COMMAND` a group however many commands there are."""


def main() -> None:
    """Run the command line; bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        print(f"twinlode: {error}", file=sys.stderr)
        sys.exit(2)
    except BaseException as error:
        if not _interrupted(error):
            raise
        print("twinlode: interrupted; run the same command again to continue", file=sys.stderr)
        leave(INTERRUPTED)


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: Typer makes an exit of it, and Beam an error of its own."""
    return error is not None and (
        isinstance(error, KeyboardInterrupt) or _interrupted(error.__cause__) or _interrupted(error.__context__)
    )


def leave(code: int) -> NoReturn:
    """End at once: threads of Beam and torch would go on, and say what became of them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
