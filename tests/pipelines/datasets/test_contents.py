"""Content decides: what is noticed of a file that changes, and what of one that does not."""

import os
import shutil
from pathlib import Path

import fsspec
import pytest

from mining.errors import InputError
from pipelines.datasets.contents import check_file, content_hash


def test_dates_and_places_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    first = content_hash(str(path))
    os.utime(path, (1, 1))
    assert content_hash(str(path)) == first
    shutil.copy(path, tmp_path / "b.txt")
    assert content_hash(str(tmp_path / "b.txt")) == first
    with fsspec.open(f"memory://{tmp_path}/c.txt", "wb") as stream:
        stream.write(b"one")
    assert content_hash(f"memory://{tmp_path}/c.txt") == first


def test_an_edit_of_the_same_size_with_the_old_date_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    before = path.stat()
    first = content_hash(str(path))
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert content_hash(str(path)) != first


def test_a_file_is_read_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    first = content_hash(str(path))
    monkeypatch.setattr("pipelines.datasets.contents._hash", lambda stream: pytest.fail("read again"))
    assert content_hash(str(path)) == first


def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: not a regular file; write what it gives to a file first"):
        content_hash(str(tmp_path / "pipe"))
    with pytest.raises(InputError, match="is a folder; a file is needed"):
        content_hash(str(tmp_path))
    with pytest.raises(InputError, match="gone: no such file"):
        content_hash(str(tmp_path / "gone"))


def test_a_file_that_is_not_the_one_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    path.write_bytes(b"vectors")
    checksum = content_hash(str(path))
    check_file(str(path), checksum)
    path.write_bytes(b"Vectors")
    with pytest.raises(InputError, match=r"a\.arrow is damaged, or was edited or replaced"):
        check_file(str(path), checksum)
    check_file(str(path), "")
    path.unlink()
    with pytest.raises(InputError, match=r"a\.arrow is missing; delete the folder"):
        check_file(str(path), checksum)
