"""A folder for one process at a time: the lock says who holds it, and goes with the process that does."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from mining.errors import InputError
from mining.paths import local_path
from mining.temporary_files import remove_leftovers, remove_leftovers_beside, unfinished

LOCK = ".lock"  # its name in a folder that people choose
_held: set[int] = set()


def held_folder(folder: str) -> AbstractContextManager[None]:
    """Hold a folder by the lock file in it."""
    return held(f"{folder.rstrip('/')}/{LOCK}", folder)


@contextmanager
def held_beside(path: Path) -> Iterator[None]:
    """Hold a file or folder that appears as a whole, by a lock file beside it."""
    with held(str(path.parent / f".{path.name}{LOCK}"), str(path)):
        remove_leftovers_beside(path)
        yield


@contextmanager
def held(lock: str, folder: str) -> Iterator[None]:
    """Hold the lock file `lock` of `folder`, or refuse; a remote store has no locks, and there nothing is done.

    Who holds a folder alone clears away what killed runs left in it half written. The kernel lets go of the lock of a
    process that ends, however it ends, so that a file which a killed one left blocks nobody.
    """
    path = local_path(lock)
    if path is None:
        yield
        return
    stream = _acquire(Path(path), folder)
    _held.add(stream)
    unfinished.add(Path(path))
    try:
        remove_leftovers(Path(local_path(folder) or folder))
        yield
    finally:
        _held.discard(stream)
        with suppress(OSError):  # a folder that cannot be written any more, or is gone
            Path(path).unlink()
        unfinished.discard(Path(path))
        os.close(stream)


def _acquire(path: Path, folder: str) -> int:
    while True:
        stream = _open(path, folder)
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(stream, 1000).decode("utf-8", "replace").strip() or "another process"
            os.close(stream)
            told = f"{folder} is in use by {holder}; wait for it, or choose another folder"
            raise InputError(told, code="T05") from None
        if _is_there(path, stream):
            _sign(stream)
            return stream
        os.close(stream)  # the holder removed the file between our two calls


def _open(path: Path, folder: str) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None


def _is_there(path: Path, stream: int) -> bool:
    try:
        return os.path.samestat(os.fstat(stream), path.stat())
    except FileNotFoundError:
        return False


def _sign(stream: int) -> None:
    """Say who holds the lock; a full disk has no room for that, but the lock holds."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    who = f"process {os.getpid()} on {socket.gethostname()} ({command}, since {time.strftime('%H:%M:%S')})"
    with suppress(OSError):
        os.ftruncate(stream, 0)
        os.pwrite(stream, who.encode(), 0)


def _forget() -> None:
    """A worker that outlives its parent must not hold the lock on."""
    for stream in _held:
        os.close(stream)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
