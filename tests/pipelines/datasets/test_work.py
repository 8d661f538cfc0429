"""A dataset in the making: names of attempts, other places, and the lock."""

import subprocess
import sys
from pathlib import Path

import pytest

from mining.errors import InputError
from mining.locks import held
from pipelines.datasets.manifest import Counters, Dataset, Request, Shard
from pipelines.datasets.work import Work, begin, new_name, place_for


def request(rows: int = 3) -> Request:
    return Request(kind="sentences", configuration={"rows": rows}, inputs=[])


def begun(folder: Path, asked: Request | None = None) -> Work:
    work = begin(str(folder), asked or request())
    assert isinstance(work, Work)
    return work


def attempt(work: Work, content: bytes) -> Shard:
    name = new_name(0, "arrow")
    for file in (name, f"dead-{name.removesuffix('.arrow')}.parquet"):
        Path(work.place(file)).write_bytes(content)
    return work.note(Shard(index=0, name=name, rows=1, digest="d"))


def test_the_manifest_chooses_among_attempts(tmp_path: Path) -> None:
    work = begun(tmp_path)
    first, second = attempt(work, b"last bit 0"), attempt(work, b"last bit 1")
    assert first.name != second.name
    assert work.finished(0) == second, "note and file are of one attempt"
    made = work.complete([second], Counters())
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == sorted(["manifest.json", second.name, f"dead-{second.name.removesuffix('.arrow')}.parquet"])
    assert Path(made.shard_url(second)).read_bytes() == b"last bit 1"


def test_what_killed_attempts_had_begun_to_write_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while writing, or between the manifest and the cleaning: the next run leaves a clean folder."""
    work = begun(tmp_path)
    chosen, lost = attempt(work, b"x"), attempt(work, b"y")
    (tmp_path / f"{lost.name}.1deb524a6309.tmp").write_bytes(b"half")
    monkeypatch.setattr(Work, "clean", lambda self, shards: None)
    work.complete([chosen], Counters())
    monkeypatch.undo()
    assert isinstance(begin(str(tmp_path), request()), Dataset)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == sorted(["manifest.json", chosen.name, f"dead-{chosen.name.removesuffix('.arrow')}.parquet"])


def test_a_damaged_shard_is_refused(tmp_path: Path) -> None:
    work = begun(tmp_path)
    made = work.complete([attempt(work, b"vectors")], Counters())
    Path(made.place(made.shards[0])).write_bytes(b"others!")
    with pytest.raises(InputError, match="is damaged, or was edited or replaced"):
        made.shard_url(made.shards[0])


def test_another_request_has_a_place_of_its_own(tmp_path: Path) -> None:
    url = str(tmp_path / "pairs")
    assert place_for(url, request()) == url
    begin(url, request())
    assert place_for(url, request()) == url
    other = place_for(url, request(4))
    assert other.startswith(f"{url}-")
    assert place_for(url, request(4)) == other != place_for(url, request(5))


def test_a_folder_in_use_is_refused_and_says_by_whom(tmp_path: Path) -> None:
    work = begun(tmp_path)
    refused = pytest.raises(InputError, match=rf"{tmp_path} is in use by process \d+ on .*; wait for it")
    with work.alone(), refused, work.alone():
        pass
    with work.alone():
        pass


def test_a_lock_does_not_outlive_its_process(tmp_path: Path) -> None:
    code = f"""
import os, signal
from mining.locks import held
with held({str(tmp_path / ".lock")!r}, "work"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert "process" in (tmp_path / ".lock").read_text()
    with held(str(tmp_path / ".lock"), "work"):
        pass


def test_a_store_without_locks_has_none() -> None:
    with held("memory://somewhere/.lock", "work"), held("memory://somewhere/.lock", "work"):
        pass


def test_a_finished_dataset_is_found_by_the_same_request(tmp_path: Path) -> None:
    work = begun(tmp_path)
    made = work.complete([attempt(work, b"x")], Counters())
    assert begin(str(tmp_path), request()) == made
    assert isinstance(made, Dataset)
