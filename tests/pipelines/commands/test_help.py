"""Help and completion: every command has examples that can be given as they stand."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from pipelines import cli
from tests.pipelines.command_tree import read_arguments, subcommand


def examples(name: str) -> list[str]:
    paragraphs = [" ".join(paragraph.split()) for paragraph in subcommand(name).help.split("\n\n")]
    found = [re.sub(r"^Examples?: ", "", paragraph) for paragraph in paragraphs]
    return [line for line in found if line.startswith("twinlode ")]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_can_be_given(name: str) -> None:
    assert examples(name)
    for line in examples(name):
        read_arguments(shlex.split(line)[1:])


@pytest.mark.parametrize(
    ("words", "offered"), [("twinlode mi", {"mine", "mine-vectors"}), ("twinlode mine --src", {"--src", "--src-lang"})]
)
def test_bash_completes(words: str, offered: set[str]) -> None:
    asked = {"_TWINLODE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "from pipelines.cli import app; app(prog_name='twinlode')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert offered == set(done.stdout.split())
