"""Every example of every help text, run as it stands in a folder where small files bear the names that it uses."""

import os
import re
import shlex
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import pytest

from encoder import default
from encoder.models import BagSettings
from pipelines import cli
from tests.encoder.fixtures import write_checkpoint
from tests.pipelines.commands.help_examples import examples
from tests.pipelines.installed import install
from tests.site.stand_ins import run, write_contextual_encoder, write_stand_ins

MINE, *_ = examples("mine")
PREPARE, *_ = examples("prepare")
EMBED, *_ = examples("embed")
# What other commands make for an example to read.
BEFORE = {
    "embed": [PREPARE],
    "graph": [PREPARE, EMBED, "twinlode prepare de.txt --lang de --out work/de", EMBED.replace("/en", "/de")],
    "report": [MINE],
    "review": [MINE],
    "inspect": [MINE],
}
WITH_LABSE = ("eval", "import")
SLOW = {"plan": pytest.mark.slow}  # it measures this machine
NAMES = [name for name in cli.COMMANDS if name != "demo"]  # which tests/pipelines/demo/test_walk.py runs
PROGRAM = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = write_stand_ins(tmp_path)
    write_checkpoint(here / "runs" / "small" / "best", BagSettings(dim=16))
    if not default.has_default():
        install(tmp_path / "installed", monkeypatch)
    monkeypatch.chdir(here)
    return here


def run_example(line: str) -> None:
    arguments = shlex.split(line)
    run(arguments[1:])
    for option, value in pairwise(arguments):
        assert option not in ("-o", "--out", "--rejected", "--documents") or Path(value).exists(), f"{line}: {value}"


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in NAMES if name != "review"])
def test_examples_do_what_they_say(name: str, stand_ins: Path) -> None:
    if name in WITH_LABSE:
        write_contextual_encoder(stand_ins / "sentence-transformers" / "LaBSE")
    for line in [*BEFORE.get(name, []), *examples(name)]:
        if line.startswith("twinlode "):
            run_example(line)


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for name in NAMES for line in examples(name) if "|" in line])
def test_examples_with_pipes(line: str, stand_ins: Path) -> None:
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], env=PROGRAM, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
def test_example_of_review_serves_a_page_until_it_is_stopped(stand_ins: Path) -> None:
    (line,) = examples("review")
    run_example(MINE)
    with subprocess.Popen(shlex.split(line), env=PROGRAM, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr
        with urlopen(re.findall(r"http://\S+", served.stderr.readline())[0]) as page:
            assert page.status == 200
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 0
