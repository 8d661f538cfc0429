"""Help and completion: every command has examples that can be given as they stand."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from encoder.settings import models_in
from pipelines import cli
from pipelines.align.align_settings import AlignSettings
from pipelines.clean.clean_settings import CleanSettings
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.graph.graph_settings import GraphSettings
from pipelines.mine.mine_settings import JobSettings, VectorJobSettings
from pipelines.prepare.prepare_settings import PrepareSettings
from tests.pipelines.command_tree import read_arguments, subcommand
from tests.pipelines.commands.help_examples import examples
from tests.site.pages import ROOT


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_can_be_given(name: str) -> None:
    assert examples(name)
    for line in examples(name):
        read_arguments(shlex.split(re.findall(r"twinlode [^|]*", line)[0])[1:])


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_are_shown_as_they_are_typed(name: str) -> None:
    """Not wrapped: a line that a terminal of 80 columns breaks cannot be copied."""
    shown = CliRunner().invoke(cli.app, [name, "--help"], terminal_width=80).output
    for line in examples(name):
        assert line in " ".join(shown.replace("\\\n", " ").split())
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("align", AlignSettings),
        ("clean", CleanSettings),
        ("embed", EmbedSettings),
        ("graph", GraphSettings),
        ("mine", JobSettings),
        ("mine-vectors", VectorJobSettings),
        ("prepare", PrepareSettings),
    ],
)
def test_the_example_of_set_is_a_setting(name: str, model: type[BaseModel]) -> None:
    (option,) = (parameter for parameter in subcommand(name).params if "--set" in parameter.opts)
    (shown,) = re.findall(r"for example ([\w.]+)=", option.help)
    for word in shown.split("."):
        field = model.model_fields[word]
        model = next(iter(models_in(field.annotation)), model)


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


def test_one_version_everywhere() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert CliRunner().invoke(cli.app, ["--version"]).output == f"twinlode {version}\n"
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version


@pytest.mark.parametrize("group", [[], ["eval"]])
def test_lists_of_commands_are_not_cut_off(group: list[str]) -> None:
    shown = CliRunner().invoke(cli.app, [*group, "--help"], terminal_width=80).output
    assert not re.findall(r"^  \S.*\.\.\.$", shown, re.MULTILINE)
    if not group:
        assert re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", shown, re.MULTILINE) == list(cli.COMMANDS)
