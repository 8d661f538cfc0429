"""A folder for one process at a time: the lock says who holds it, and goes with the process that does."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from mining.errors import InputError
from mining.paths import local_path


@contextmanager
def held(lock: str, folder: str) -> Iterator[None]:
    """Hold the lock file `lock` of `folder`, or refuse; a remote store has no locks, and there nothing is done."""
    path = local_path(lock)
    if path is None:
        yield
        return
    with _opened(Path(path), folder) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.seek(0)
            holder = stream.read().strip() or "another process"
            told = f"{folder} is in use by {holder}; wait for it, or choose another folder"
            raise InputError(told, code="T05") from None
        stream.truncate(0)
        stream.write(_who())
        stream.flush()
        yield


def _opened(path: Path, folder: str) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None


def _who() -> str:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return f"process {os.getpid()} on {socket.gethostname()} ({command}, since {time.strftime('%H:%M:%S')})"
