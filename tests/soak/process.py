"""Commands in processes forked from this one, so that nothing is imported again, and what they leave running."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.forked import fork

_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10.0  # seconds for workers to see that their parent is gone
libc = ctypes.CDLL(None, use_errno=True)


class Ended(NamedTuple):
    """How a process ended: its exit code, or minus the signal; what it said; what it left running."""

    code: int
    said: str
    orphans: list[str]

    @property
    def killed(self) -> bool:
        return self.code < 0


class Command:
    """`twinlode` with arguments, in a folder, after `prepare` was called in its process."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        logs: Path,
        prepare: Callable[[], None],
        stdin: str = os.devnull,
    ) -> None:
        self._log = logs / "stderr"
        self.began = time.monotonic()
        with self._log.open("wb") as errors, (logs / "stdout").open("wb") as output:
            self.pid = os.fork()
            if self.pid == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                _run(arguments, folder, logs / "tmp", prepare, stdin)

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def running(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def stopped(self) -> bool:
        with suppress(ChildProcessError):  # it has ended
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, seconds: float, besides: Sequence[int] = ()) -> Ended:
        """Its end; a process that takes longer is killed, which the exit code -9 then tells.

        `besides` are processes that may go on.
        """
        deadline = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > deadline:
                self.send(signal.SIGKILL)
            time.sleep(0.002)
        status = os.waitpid(self.pid, 0)[1]
        return Ended(os.waitstatus_to_exitcode(status), self.said, _orphans(set(besides)))


def adopt_orphans() -> None:
    """What the processes of a command leave running becomes a child of this one."""
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def forked(work: Callable[[], object]) -> int:
    """Do something in a process of its own; its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1])


def _run(arguments: Sequence[str], folder: Path, temporary: Path, prepare: Callable[[], None], stdin: str) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        os.environ["TMPDIR"], tempfile.tempdir = str(temporary), None
        sys.argv = ["twinlode", *arguments]
        prepare()
        from pipelines.cli import main

        main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        traceback.print_exc()
    # What the interpreter does at its end.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _orphans(besides: set[int]) -> list[str]:
    """Processes that a command left running, which are ended now."""
    deadline = time.monotonic() + _PATIENCE
    left = _children(besides)
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = _children(besides)
    names = [_name(pid) for pid in left]
    for pid in left:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return names


def _children(besides: set[int]) -> set[int]:
    """Children that still run; those that ended are taken note of."""
    found = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()
    children = {int(pid) for pid in found.split()} - besides
    return {pid for pid in children if os.waitpid(pid, os.WNOHANG)[0] == 0}


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return f"process {pid}"
