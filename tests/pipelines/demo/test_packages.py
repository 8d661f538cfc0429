"""Archives come into the cache whole, whatever an earlier run left there."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from mining.temporary_files import temporary_name
from pipelines.demo.packages import Package, fetch

APP = Package("app", "1")
WHEEL = "app-1-py3-none-any.whl"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that a stand-in for pip has downloaded to."""
    folders: list[str] = []

    def download(command: Sequence[str], **options: object) -> SimpleNamespace:
        folders.append(command[command.index("--dest") + 1])
        Path(folders[-1], WHEEL).write_bytes(b"whole")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", download)
    return folders


def test_a_download_is_made_elsewhere_and_clears_what_a_killed_one_left(tmp_path: Path, pip: list[str]) -> None:
    (tmp_path / temporary_name(f".{WHEEL}")).write_bytes(b"half")
    found = fetch([APP], tmp_path, Console(quiet=True))
    assert found == [tmp_path / WHEEL]
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(WHEEL, b"whole")]
    assert not Path(pip[0]).is_relative_to(tmp_path)
    fetch([APP], tmp_path, Console(quiet=True))
    assert len(pip) == 1
