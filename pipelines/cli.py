"""The `twinlode` command: one module in `pipelines/commands` for each subcommand, imported when it is asked for.

Command modules import torch, Beam and what needs them inside their functions, so `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from mining.errors import InputError

COMMANDS = {
    "demo": "demo",
    "mine": "mine",
    "align": "align",
    "clean": "clean",
    "mine-vectors": "mine_vectors",
    "prepare": "prepare",
    "embed": "embed",
    "graph": "graph",
    "report": "report",
    "review": "review",
    "inspect": "inspect",
    "train": "train",
    "train-classifier": "train_classifier",
    "compare": "compare",
    "loop": "loop",
    "eval": "eval",
    "export": "export",
    "import": "import_",
}


class Commands(TyperGroup):
    """The subcommands by name; only the one that is run is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        one.command(cmd_name)(import_module(f"pipelines.commands.{COMMANDS[cmd_name]}").command)
        return typer.main.get_command(one)


INTERRUPTED = 130  # what a shell gives a command that Ctrl-C ended

app = typer.Typer(
    name="twinlode",
    help="Mine translation pairs from monolingual text, and train the encoders that find them.",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """Mine translation pairs from monolingual text, and train the encoders that find them."""
    if version:
        from importlib.metadata import version as installed

        print(f"twinlode {installed('twinlode')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        # Libraries that are quoted in it write several lines.
        more = f" [{error.code}: docs/reference/errors.md]" if error.code else ""
        print(f"twinlode: {' '.join(str(error).splitlines())}{more}", file=sys.stderr)
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
