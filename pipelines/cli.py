"""The `twinlode` command: one module in `pipelines/commands` for each subcommand.

Command modules import torch, Beam and our own rooms inside their functions, so `--help` answers at once.
"""

from __future__ import annotations

import sys

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
    except KeyboardInterrupt:
        print("twinlode: interrupted; run the same command again to continue", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
