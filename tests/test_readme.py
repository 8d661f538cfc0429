"""README and pages are true: their commands and options exist, and so do the files, targets and pictures they name."""

import re
import shlex
from typing import Any

import pytest
from typer.main import get_command

from pipelines import cli
from tests.site.pages import ROOT, commands, page_names, text_of

PAGES = page_names()
TEXT = "\n".join(map(text_of, PAGES))
COMMANDS = [line for page in PAGES for line in commands(page)]


def subcommand(name: str) -> Any:
    return get_command(cli.app).get_command(None, name)  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", dict.fromkeys(COMMANDS))
def test_commands_can_be_given_as_they_stand(line: str) -> None:
    name, *arguments = shlex.split(line, comments=True)[1:]
    command = subcommand(name)
    command.make_context(name, arguments)  # reads options and arguments, runs nothing


def test_there_are_commands_at_all() -> None:
    named = {shlex.split(line)[1] for line in COMMANDS}
    assert {"mine", "mine-vectors", "clean", "align", "train", "loop", "report", "review", "inspect"} <= named


def test_options_that_the_text_names_exist() -> None:
    known = {option for name in cli.COMMANDS for parameter in subcommand(name).params for option in parameter.opts}
    known |= {option for parameter in get_command(cli.app).params for option in parameter.opts} | {"--help"}
    named = set(re.findall(r"`(?:[\w-]+ )*(--[a-z][a-z-]*)", TEXT))
    assert named and named <= known


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE))))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?<![\w/])(?:configs|docs)/[\w./-]+\.[a-z]+", TEXT))))
def test_files_exist(path: str) -> None:
    assert (ROOT / path).is_file()
    assert (ROOT / path).stat().st_size < 300_000


def test_pictures_are_small_and_all_in_use() -> None:
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert pictures
    for picture in pictures:
        assert f"pictures/{picture.name}" in TEXT
        assert picture.stat().st_size < 300_000
