"""Commands as the command line finds them, those of groups included."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from pipelines import cli


def subcommand(*words: str) -> Any:
    """`subcommand("eval", "tatoeba")`."""
    command = get_command(cli.app)
    for word in words:
        command = command.get_command(None, word)  # type: ignore[attr-defined]
    return command


def all_commands() -> dict[str, Any]:
    """Every command by its words; a group is given by its commands."""
    found = {}
    for name in cli.COMMANDS:
        command = subcommand(name)
        inner = command.list_commands(None) if isinstance(command, TyperGroup) else []
        found |= {f"{name} {word}": subcommand(name, word) for word in inner} or {name: command}
    return found


def read_arguments(words: Sequence[str]) -> None:
    """Read options and arguments of a command line without running it; what is wrong with them is raised."""
    name, *arguments = words
    command = subcommand(name)
    if isinstance(command, TyperGroup):
        name, *arguments = arguments
        command = command.get_command(None, name)
    command.make_context(name, arguments)
