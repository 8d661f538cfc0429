"""The n-th change to files that a command makes: the moments between which its folder has another state."""

from __future__ import annotations

import mmap
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Counter:
    """Counts in a process what its parent reads, even after it was killed."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def value(self) -> int:
        return int(struct.unpack("q", self._memory[:8])[0])

    def add(self) -> int:
        self._memory[:8] = struct.pack("q", self.value + 1)
        return self.value


def at_change(number: int, folder: Path, counter: Counter, act: Callable[[], None]) -> None:
    """From now on, call `act` before the change of that number that this process makes to files in `folder`."""
    here = f"{folder}/"

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if _changes(event, arguments, here) and counter.add() == number:
            act()

    sys.addaudithook(watch)


def _changes(event: str, arguments: tuple[Any, ...], here: str) -> bool:
    if event == "open":
        path, _, flags = arguments
        return bool(flags & _WRITING) and _inside(path, here)
    return event in _CHANGES and _inside(arguments[0], here)


def _inside(path: object, here: str) -> bool:
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str | os.PathLike):
        return False
    name = os.fspath(path)
    return isinstance(name, str) and (not name.startswith("/") or name.startswith(here))
