"""Blocks of `bash`, `console` and `py` in the pages: each is run here, or the reason why not is here."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from tests.pipelines.installed import ENGLISH, GERMAN
from tests.site.pages import ROOT, Block, blocks, page_names
from tests.site.stand_ins import run, write_lines, write_stand_ins

HUB = "twinlode mine 'hf://"
PLAN = "twinlode plan en.txt de.txt"
TEMPLATE = "python configs/runners/dataflow/main.py"
INSTALL_COMPLETION = "$ twinlode --install-completion"
RUN_HERE = (HUB, PLAN, TEMPLATE, INSTALL_COMPLETION)
# How a block begins, and why it is not run as it stands.
NOT_RUN = {
    "git clone": "it fetches gigabytes: tests/test_installed.py installs a wheel with links to what is here",
    "twinlode train configs/ems-small.yaml": "tests/test_readme_runs.py runs it first of all commands",
    "import mteb": "mteb downloads Tatoeba: tests/pipelines/evaluation/test_mteb_model.py has a task of its own",
    ".venv/bin/python -m tests.flink.cluster": "it serves until it is stopped: make test-flink starts one",
    "twinlode mine text/mine/en-de/en.txt": "it needs that cluster: make test-flink mines with the same settings",
    "python -m apache_beam.runners.worker": "it serves until it is stopped: make test-flink starts a pool",
    "twinlode mine s3://": "it needs a cluster with a store: make test-flink and tests/pipelines/test_object_store.py",
    "twinlode mine gs://": "it needs an account of Google Cloud",
    "gcloud dataflow": "it needs an account of Google Cloud",
}
KINDS = ("bash", "console", "py")
BLOCKS = [block for page in page_names() for block in blocks(page) if block.kind in KINDS]
PROGRAM = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def block_of(beginning: str) -> Block:
    (found,) = [block for block in BLOCKS if block.text.lstrip().startswith(beginning)]
    return found


def bash(script: str, **variables: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], env=PROGRAM | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{script}: {done.stdout} {done.stderr}"
    return done.stdout


def test_every_block_is_run_or_has_a_reason() -> None:
    known = [block_of(beginning) for beginning in (*RUN_HERE, *NOT_RUN)]
    assert [block.text for block in BLOCKS if block not in known] == []


class Hub(MemoryFileSystem):
    """Files in memory, in the place of the Hugging Face hub's."""

    protocol = "hf"
    store: dict = {}  # noqa: RUF012 - one for all, as its parent has it
    pseudo_dirs = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix("hf://"))


@pytest.mark.slow
def test_text_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registry, "hf", Hub)
    monkeypatch.chdir(tmp_path)
    for lang, text in (("en", ENGLISH), ("de", GERMAN)):
        with Hub().open(f"hf://datasets/OWNER/NAME/{lang}/0.parquet", "wb") as file:
            pq.write_table(pa.table({"id": range(len(text.splitlines())), "text": text.splitlines()}), file)
    (line,) = block_of(HUB).lines
    run([word.strip("'") for word in line.split()[1:]])
    found = {tuple(line.split("\t")[1:]) for line in Path("pairs.tsv").read_text().splitlines()}
    assert len(found & set(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))) >= 6


def test_completion_is_installed_and_completes(tmp_path: Path) -> None:
    install = block_of(INSTALL_COMPLETION).lines[0].removeprefix("$ ")
    asked = "COMP_WORDS=(twinlode mi); COMP_CWORD=1; _twinlode_completion twinlode; echo ${COMPREPLY[*]}"
    bash(f"{install}\ntrue", HOME=str(tmp_path))  # bash stays, because it is asked which shell this is
    assert bash(f"source ~/.bashrc; {asked}", HOME=str(tmp_path)).split() == ["mine", "mine-vectors"]


@pytest.mark.slow
def test_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_stand_ins(tmp_path))
    assert "core-hours" in bash(block_of(PLAN).text)


@pytest.mark.slow
def test_template_on_the_direct_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    for lang, text in (("en", ENGLISH), ("de", GERMAN)):
        write_lines(tmp_path / f"text/mine/en-de/{lang}.txt", text.splitlines())
    bash(block_of(TEMPLATE).text)
    bash("twinlode mine text/mine/en-de/en.txt text/mine/en-de/de.txt -o pairs.tsv")
    assert Path("template.tsv").read_bytes() == Path("pairs.tsv").read_bytes()
