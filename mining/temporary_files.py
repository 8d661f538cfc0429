"""What killed runs left half written: found by its name, and removed where nobody writes it any more."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

_TEMPORARY = re.compile(r"\.[0-9a-f]{12}\.tmp$")
unfinished: set[Path] = set()  # what this process must not leave behind, wherever a signal ends it


def temporary_name(name: str) -> str:
    """A name for what will be called `name` when it is whole; no other attempt has it."""
    return f"{name}.{uuid.uuid4().hex[:12]}.tmp"


def claim(stream: int) -> None:
    """Show that a temporary file is being written, for as long as it is open."""
    with suppress(OSError):  # some file systems have no locks
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_unfinished() -> None:
    """For a process that ends at once: a signal between two instructions can keep a `with` block from its end."""
    for path in unfinished:
        _delete(path)


def remove_leftovers(folder: Path) -> None:
    """Of a folder and all folders in it, which nobody else writes to now."""
    for parent, folders, files in os.walk(folder):
        for name in filter(_TEMPORARY.search, [*folders, *files]):
            _remove(Path(parent, name))


def remove_leftovers_beside(path: Path) -> None:
    """Of one file or folder, and of what was made in its place: each such name begins with one more dot."""
    start = f"{path.name.lstrip('.')}."
    with suppress(OSError):
        for other in list(path.parent.iterdir()):
            if other.name.lstrip(".").startswith(start) and _TEMPORARY.search(other.name):
                _remove(other)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir():
        _delete(path)
        return
    with suppress(OSError), path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused where somebody is writing it
        path.unlink()
