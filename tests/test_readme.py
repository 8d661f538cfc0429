"""README and pages are true: their commands and options exist, and so do the files, targets and pictures they name."""

import re
import shlex

import pytest

from tests.pipelines.command_tree import all_commands, read_arguments, subcommand
from tests.site.pages import ROOT, commands, page_names, text_of
from tests.site.pictures import PICTURES

PAGES = [*page_names(), "mining/errors.md"]
TEXT = "\n".join(map(text_of, PAGES))
COMMANDS = [line for page in PAGES for line in commands(page)]


@pytest.mark.parametrize("line", dict.fromkeys(COMMANDS))
def test_commands_can_be_given_as_they_stand(line: str) -> None:
    read_arguments(shlex.split(line, comments=True)[1:])


def test_there_are_commands_at_all() -> None:
    named = {shlex.split(line)[1] for line in COMMANDS}
    assert {"mine", "mine-vectors", "clean", "align", "train", "loop", "report", "review", "inspect"} <= named


def test_options_that_the_text_names_exist() -> None:
    commands = [subcommand(), *all_commands().values()]
    known = {option for command in commands for parameter in command.params for option in parameter.opts} | {"--help"}
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
    assert {picture.stem for picture in pictures} == set(PICTURES), "make pictures"
    for picture in pictures:
        assert f"pictures/{picture.name}" in TEXT
        assert picture.stat().st_size < 300_000
