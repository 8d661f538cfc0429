"""Processes of ours import our packages, even where the user has a folder of the same name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pipelines
from pipelines.loop import round_training
from pipelines.runners import local
from pipelines.runners.processes import child_environment


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "__init__.py").write_text("raise SystemExit('of the user')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    return tmp_path


def imported(environment: dict[str, str]) -> str:
    """Where a process finds `pipelines`; Python puts the working directory on the path for `-c` as for `-m`."""
    show = ["-c", "import pipelines; print(pipelines.__file__)"]
    done = subprocess.run([sys.executable, *show], env=os.environ | environment, capture_output=True, text=True)
    return done.stdout.splitlines()[0] if done.returncode == 0 else done.stderr


def test_the_working_directory_is_not_on_the_path(own_folder: Path) -> None:
    assert imported(child_environment()) == pipelines.__file__


def test_local_workers_are_started_so(own_folder: Path) -> None:
    with local._environment(1):
        assert imported({}) == pipelines.__file__
    assert "PYTHONSAFEPATH" not in os.environ


def test_training_processes_are_started_so(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []

    def run(command: list[str], env: dict[str, str], check: bool) -> subprocess.CompletedProcess[str]:
        started.append(env)
        return subprocess.CompletedProcess(command, 0)

    class Plan:
        def model_dump(self, mode: str) -> dict[str, str]:
            return {}

    with monkeypatch.context() as patch:
        patch.setattr(round_training.subprocess, "run", run)
        round_training._torchrun(Plan(), own_folder / "run", [], 2)  # type: ignore[arg-type]
    assert imported(started[0]) == pipelines.__file__
