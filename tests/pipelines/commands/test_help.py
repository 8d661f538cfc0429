"""Help and completion: every command has examples that can be given as they stand."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from pipelines import cli


def examples(name: str) -> list[str]:
    text = get_command(cli.app).get_command(None, name).help  # type: ignore[attr-defined]
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    found = [re.sub(r"^Examples?: ", "", paragraph) for paragraph in paragraphs]
    return [line for line in found if line.startswith("twinlode ")]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_can_be_given(name: str) -> None:
    assert examples(name)
    for line in examples(name):
        given, *arguments = shlex.split(line)[1:]
        get_command(cli.app).get_command(None, given).make_context(given, arguments)  # type: ignore[attr-defined]


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
