"""`-` in place of a file: standard input, kept in a file as it is read more than once, and standard output."""

from __future__ import annotations

import filecmp
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mining.errors import InputError

STANDARD = "-"
_KEPT = "standard-input.txt"


class OutputFile(NamedTuple):
    """Where a command writes, and a temporary folder for what it needs only while it runs."""

    path: str
    scratch: str
    is_standard: bool

    @property
    def shown(self) -> str:
        return "standard output" if self.is_standard else self.path

    def local_folder(self, work: str) -> Path:
        """`work`, or where it is a URL the temporary folder."""
        return Path(self.scratch if "://" in work else work)


@contextmanager
def output_file(out: str, name: str) -> Iterator[OutputFile]:
    """`out`; for `-` a temporary file of this name, which goes to standard output at the end."""
    with TemporaryDirectory(prefix="twinlode-") as scratch:
        file = OutputFile(f"{scratch}/{name}" if out == STANDARD else out, scratch, out == STANDARD)
        yield file
        if file.is_standard:
            _copy_to_output(Path(file.path))


def keep_input(files: Sequence[str | None], folder: Path) -> list[str | None]:
    """`files` with standard input, where one of them is `-`, as a file in `folder`.

    A file there that says the same stays untouched: datasets made from it know it by its date.
    """
    if STANDARD not in files:
        return list(files)
    kept, arriving = folder / _KEPT, folder / f".{_KEPT}.arriving"
    folder.mkdir(parents=True, exist_ok=True)
    with arriving.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if kept.exists() and filecmp.cmp(kept, arriving, shallow=False):
        arriving.unlink()
    else:
        arriving.replace(kept)
    return [str(kept) if file == STANDARD else file for file in files]


def require_one_input(files: Sequence[str | None]) -> None:
    if list(files).count(STANDARD) > 1:
        raise InputError("`-` is there twice, but there is one standard input; give a file for the other")


def _copy_to_output(path: Path) -> None:
    """Write a file to standard output; a reader that has enough and closes it is no error."""
    try:
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads what Python would say of it at its end
