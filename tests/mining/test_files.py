"""Files: every compression both ways, errors that name file and line, and never a half file."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import fsspec
import pytest

from mining import files, paths
from mining.errors import InputError

EXTENSIONS = ["txt", "gz", "bz2", "xz", "zst"]
LINES = ["first", "", "größer \u2028 inside", "last"]


def write(url: str, lines: list[str]) -> None:
    with files.atomic_text(url) as text:
        text.writelines(f"{line}\n" for line in lines)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("remote", [False, True])
def test_round_trip(tmp_path: Path, extension: str, remote: bool) -> None:
    folder = f"memory://{tmp_path.name}" if remote else str(tmp_path / "made" / "here")
    url = f"{folder}/a.{extension}"
    write(url, LINES * 5000)
    assert files.read_lines(url) == LINES * 5000
    assert paths.exists(url)
    assert (paths.local_path(url) is None) == remote
    filesystem, path = fsspec.core.url_to_fs(folder)
    assert [Path(name).name for name in filesystem.find(path)] == [f"a.{extension}"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, extension: str) -> None:
    url = str(tmp_path / f"a.{extension}")
    write(url, ["old"])
    with pytest.raises(KeyError), files.atomic_text(url) as text:
        text.write("half a line")
        raise KeyError
    assert files.read_lines(url) == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{extension}"]


@pytest.mark.parametrize("extension", EXTENSIONS[1:])
@pytest.mark.parametrize("keep", [0.3, 0.9, -1])
def test_truncated(tmp_path: Path, extension: str, keep: float) -> None:
    path = tmp_path / f"a.{extension}"
    write(str(path), [f"line {number * number}" for number in range(3000)])
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep > 0 else -1])
    with pytest.raises(InputError, match=rf"a\.{extension}: cannot be read after line \d+"):
        files.read_lines(str(path))


@pytest.mark.parametrize("extension", EXTENSIONS[1:])
def test_not_what_the_extension_says(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a.{extension}"
    path.write_text("plain text\n" * 50)
    with pytest.raises(InputError, match="cannot be read"):
        files.read_lines(str(path))


def test_corrupt_inside(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(bytes(range(256)) * 50))
    content[40:60] = b"\xff" * 20
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        files.read_lines(str(tmp_path / "a.gz"))


def test_reading_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"fine\nab\xffc\n")
    with pytest.raises(InputError, match=r"bad.txt, line 2: not valid UTF-8 .*iconv -f"):
        files.read_lines(str(tmp_path / "bad.txt"))
    with pytest.raises(InputError, match="no such file"):
        files.read_lines(str(tmp_path / "absent.txt"))
    with pytest.raises(InputError, match="is a folder"):
        files.read_lines(str(tmp_path))


def test_no_final_newline_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo")
    assert files.read_lines(str(tmp_path / "a.txt")) == ["one", "two"]


def test_group_appears_together_or_not_at_all(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    with files.atomic_texts([first, second]) as (one, two):
        one.write("1\n")
        two.write("2\n")
        assert not paths.exists(first)
    assert (files.read_lines(first), files.read_lines(second)) == (["1"], ["2"])
    with pytest.raises(KeyError), files.atomic_texts([str(tmp_path / "c"), str(tmp_path / "d")]) as (one, _):
        one.write("1")
        raise KeyError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_group_undone_when_the_second_cannot_move(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    with pytest.raises(InputError, match="cannot be written"), files.atomic_texts([str(first), str(second)]):
        second.mkdir()
        (second / "inside").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt"]


@pytest.mark.parametrize("target", ["/proc/nowhere/a.txt", "folder"])
def test_unwritable(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    url = target if target.startswith("/") else str(tmp_path / target)
    with pytest.raises(InputError, match="cannot be written"):
        write(url, ["x"])
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_above_that_cannot_be_made_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def makedirs(path: str, exist_ok: bool) -> None:
        raise OSError(30, "Read-only file system", str(tmp_path / "a"))

    monkeypatch.setattr(os, "makedirs", makedirs)
    with (
        pytest.raises(InputError, match=r"a/b/c\.json: cannot be written \(Read-only file system\)"),
        files.atomic_writer(str(tmp_path / "a" / "b" / "c.json")),
    ):
        pass


def test_an_error_about_another_file_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic_text(str(tmp_path / "a.txt")):
        (tmp_path / "absent").read_text()


@pytest.mark.parametrize("url", ["nowhere://x/y.txt", "s4://x/y.txt"])
def test_a_protocol_that_is_not_there_is_one_sentence(url: str) -> None:
    for use in (paths.local_path, files.read_lines, files.require_writable, paths.exists):
        with pytest.raises(InputError, match=f"{url}: cannot be opened"):
            use(url)


def test_readable_lines_tell_which_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n" + b"fine\n" * 8 + "größer\n".encode("latin-1"))
    assert list(files.readable_lines(str(path))) == ["one", *["fine"] * 8, None]
    path.write_bytes("größer\n".encode("latin-1") * 20)
    with pytest.raises(InputError, match=r"a\.txt: 20 of 20 lines are not valid UTF-8; it looks like WINDOWS-1252"):
        list(files.readable_lines(str(path)))
    path.write_text("hello\n" * 5, encoding="utf-16")
    for read in (files.readable_lines, files.iterate_lines):
        with pytest.raises(InputError, match="is UTF-16, not UTF-8"):
            list(read(str(path)))


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("folder", [False, True])
def test_atomic_path(tmp_path: Path, there: bool, folder: bool) -> None:
    def fill(path: Path, text: str) -> None:
        if folder:
            path.mkdir()
        (path / "inside" if folder else path).write_text(text)

    target = tmp_path / "made" / "it"
    if there:
        target.parent.mkdir()
        fill(target, "old")
    with pytest.raises(KeyError), files.atomic_path(target) as temporary:
        fill(temporary, "half")
        raise KeyError
    assert target.exists() == there
    with files.atomic_path(target) as temporary:
        fill(temporary, "new")
    assert (target / "inside" if folder else target).read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("step", range(4))
def test_a_signal_between_the_renames_of_a_folder_leaves_one_of_the_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """It comes before the old one is put aside, before the new one takes its place, or while the old one goes."""
    target, events = tmp_path / "best", iter(range(100))
    target.mkdir()
    (target / "weights").write_text("old")

    def interrupted(work):  # type: ignore[no-untyped-def]
        def act(*arguments, **options):  # type: ignore[no-untyped-def]
            if next(events) == step:
                raise KeyboardInterrupt
            return work(*arguments, **options)

        return act

    with pytest.raises(KeyboardInterrupt), files.atomic_path(target) as temporary:
        temporary.mkdir()
        (temporary / "weights").write_text("new")
        for owner, name in [(Path, "rename"), (files.os, "unlink"), (files.os, "rmdir")]:
            monkeypatch.setattr(owner, name, interrupted(getattr(owner, name)))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["best"]
    assert (target / "weights").read_text() == ("old" if step < 2 else "new")


def test_atomic_path_is_readable_by_others_as_the_umask_says(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        with files.atomic_path(tmp_path / "folder") as temporary:
            temporary.mkdir()
            (temporary / "private").touch(0o600)
    finally:
        os.umask(mask)
    assert (tmp_path / "folder" / "private").stat().st_mode & 0o777 == 0o644


def test_equal_content_makes_equal_files(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write(str(tmp_path / name), LINES)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
