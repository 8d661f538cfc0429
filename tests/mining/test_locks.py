"""A folder for one process at a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mining.errors import InputError
from mining.locks import LOCK, held, held_folder

HOLD = "import sys, time; from mining.locks import held_folder; lock = held_folder(sys.argv[1]); lock.__enter__(); {}"


def hold(folder: Path, then: str) -> subprocess.Popen[str]:
    """Another process that holds the folder once it has said so."""
    script = HOLD.format(f"print('held', flush=True); {then}")
    process = subprocess.Popen([sys.executable, "-c", script, folder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_the_second_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    other = hold(tmp_path, "time.sleep(600)")
    try:
        refused = pytest.raises(InputError, match=rf"{tmp_path} is in use by process {other.pid} on .*; wait for it")
        with refused, held_folder(str(tmp_path)):
            pass
    finally:
        other.kill()
        other.wait()
    with held_folder(str(tmp_path)):  # what the killed process left blocks nobody
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_goes_with_its_holder_and_not_with_its_workers(tmp_path: Path) -> None:
    # The worker says so itself: its parent would before the worker has run at all.
    other = hold(tmp_path, "import os, time\nif os.fork() == 0: print('forked', flush=True)\ntime.sleep(600)")
    assert other.stdout is not None and other.stdout.readline() == "forked\n"
    worker = int(Path(f"/proc/{other.pid}/task/{other.pid}/children").read_text())
    other.kill()
    other.wait()
    try:
        with held_folder(str(tmp_path)):
            pass
    finally:
        os.kill(worker, 9)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be written"), held_folder(str(tmp_path / "file")):
        pass


def test_a_folder_that_is_removed_meanwhile_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    with held_folder(str(folder)):
        (folder / LOCK).unlink()
        folder.rmdir()


def test_a_remote_store_has_no_locks() -> None:
    with held("memory://work/lock", "memory://work"), held("memory://work/lock", "memory://work"):
        pass
