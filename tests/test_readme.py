"""README and guides are true: their commands and options exist, and so do the files, targets and pictures they name."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from pipelines import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/mining.md", "docs/training.md")
README = "\n".join((ROOT / page).read_text() for page in PAGES)
FENCED = [text for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL) if not kind]
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
LINES = [line for block in FENCED for line in block.replace("\\\n", " ").splitlines()]
COMMANDS = [line for line in LINES if line.startswith("twinlode ")]


def subcommand(name: str) -> Any:
    return get_command(cli.app).get_command(None, name)  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_given_as_they_stand(line: str) -> None:
    name, *arguments = shlex.split(line, comments=True)[1:]
    command = subcommand(name)
    command.make_context(name, arguments)  # reads options and arguments, runs nothing


def test_there_are_commands_at_all() -> None:
    named = {shlex.split(line)[1] for line in COMMANDS}
    assert {"mine", "mine-vectors", "train", "report", "review", "inspect"} <= named


def test_options_that_the_text_names_exist() -> None:
    known = {option for name in cli.COMMANDS for parameter in subcommand(name).params for option in parameter.opts}
    named = set(re.findall(r"`(?:[\w-]+ )*(--[a-z][a-z-]*)", README))
    assert named and named <= known


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?:configs|docs)/[\w./-]+\.[a-z]+", README))))
def test_files_exist(path: str) -> None:
    assert (ROOT / path).is_file()
    assert (ROOT / path).stat().st_size < 300_000
