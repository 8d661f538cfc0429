"""What can happen to a running command, and what it may do then.

The exact moment is the n-th change that a command makes to files, or a share of the time that it takes undisturbed.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.soak.arena import Arena
from tests.soak.moments import Counter, at_change
from tests.soak.outcome import difference
from tests.soak.process import Ended, libc
from tests.soak.scenarios import Scenario

INTERRUPTED, TERMINATED = 130, 143
_HELPLESS = ("SystemError: ", "libgomp: Thread creation failed", "OpenBLAS error: Memory allocation still failed")
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


class Usual(NamedTuple):
    """A run that nothing disturbed."""

    changes: int
    seconds: float
    bytes: int
    outcome: dict[str, str]


class Struck(NamedTuple):
    """How a command took a fault: what is wrong with that, if anything; when; and what it said."""

    wrong: str
    moment: str
    code: int
    said: str
    struck: bool  # it may come too late, when all work is done


Fault = Callable[[Scenario, Arena, Usual, random.Random], Struck]


def killed(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    return _at_change(scenario, arena, usual, draw, lambda: os.kill(os.getpid(), signal.SIGKILL))


def terminated(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    return _at_change(scenario, arena, usual, draw, lambda: os.kill(os.getpid(), signal.SIGTERM))


def killed_in_time(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    return _in_time(scenario, arena, usual, draw, signal.SIGKILL)


def terminated_in_time(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    return _in_time(scenario, arena, usual, draw, signal.SIGTERM)


def read_only(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    """From some moment on nothing can be written in any folder."""

    def close() -> None:
        for folder, _, _ in os.walk(arena.case):
            Path(folder).chmod(0o555)

    struck = _at_change(scenario, arena, usual, draw, close, _obey_modes)
    if struck.wrong.startswith("left behind"):  # what nobody can remove
        struck = struck._replace(wrong="")
    for folder, _, _ in os.walk(arena.case):
        Path(folder).chmod(0o755)
    return struck


def full_disk(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    """Room for a part of what the command writes; where no file system can be mounted, for a part of a file."""
    share = draw.random()
    room, before = int(share * 1.1 * usual.bytes), arena.leftovers()

    def limit() -> None:
        if not arena.mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room // 8, room // 8))

    arena.resize((arena.used() + room) // 4096 * 4096)
    command = arena.start(scenario, limit)
    scenario.drive(command)
    ended = command.wait(_patience(usual))
    arena.resize(2 << 30)
    return Struck(_judge(ended, arena, before), f"{room:,} bytes of room", ended.code, _last(ended), ended.code != 0)


def no_memory(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    """From some moment on little more memory can be had."""
    more = int(draw.choice([8, 32, 128]) * draw.uniform(0.5, 2) * 2**20)

    def starve() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    struck = _at_change(scenario, arena, usual, draw, starve)
    # Python itself, OpenMP, OpenBLAS or the loader of a library (127) cannot go on without memory.
    return struck._replace(wrong="") if struck.said.startswith(_HELPLESS) or struck.code == 127 else struck


def clock_jump(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    """The clock jumps by days, and then the command is killed; files are so from the future or from the past."""
    jump = draw.choice([-1, 1]) * draw.uniform(60, 10 * 86_400)
    number = _change(usual, draw)
    counter, between = Counter(), draw.randint(0, 20)

    def shift() -> None:
        now = time.time
        time.time = lambda: now() + jump  # type: ignore[assignment]
        time.time_ns = lambda: int((now() + jump) * 1e9)  # type: ignore[assignment]
        at_change(between, arena.case, Counter(), lambda: os.kill(os.getpid(), signal.SIGKILL))

    there, before = set(arena.case.rglob("*")), arena.leftovers()
    command = arena.start(scenario, lambda: at_change(number, arena.case, counter, shift))
    scenario.drive(command)
    ended = command.wait(_patience(usual))
    for path in {path for path in set(arena.case.rglob("*")) - there if path.suffix != ".tsv"}:  # read before by date
        then = path.stat().st_mtime + jump
        os.utime(path, (then, then))
    moment, struck = f"change {number}, {jump / 3600:+.1f} h", counter.value >= number
    return Struck(_judge(ended, arena, before), moment, ended.code, _last(ended), struck)


def twice(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random) -> Struck:
    """A second run begins while the first stands still in the middle of its work."""
    number, counter = _change(usual, draw), Counter()
    before, fresh = arena.leftovers(), not any(arena.case.glob("out*"))  # else its work may be done by then
    stop = partial(signal.raise_signal, signal.SIGSTOP)
    first = arena.start(scenario, lambda: at_change(number, arena.case, counter, stop), arena.root / "first")
    deadline = time.monotonic() + _patience(usual)
    while first.running() and not first.stopped() and time.monotonic() < deadline:
        time.sleep(0.005)
        if "open http" in first.said:  # it waits for its user
            break
    in_the_middle = fresh and first.stopped() and 0.2 < number / usual.changes < 0.6
    holds = _holds_lock(first.pid)
    second = arena.start(scenario)
    scenario.drive(second)
    ended = second.wait(_patience(usual), besides=[first.pid])
    complete = ended.code == 0 and not difference(usual.outcome, arena.outcome())  # the first had only to clear up
    first.send(signal.SIGCONT)
    scenario.drive(first)
    own = first.wait(_patience(usual))
    wrong = _judge(ended, arena, None) or _judge(own, arena, before)
    if scenario.alone and in_the_middle and not holds:
        wrong = wrong or "it works without a lock"
    if holds and not complete and not (ended.code == 2 and f"in use by process {first.pid}" in ended.said):
        wrong = wrong or "the second does not say who holds the folder"
    said = f"second: {_last(ended)}; first: {own.code} {_last(own)}"
    return Struck(wrong, f"change {number}{', held' if holds else ''}", ended.code, said, True)


FAULTS: dict[str, tuple[int, Fault]] = {
    "SIGKILL at a change": (10, killed),
    "SIGKILL at a time": (3, killed_in_time),
    "SIGTERM at a change": (5, terminated),
    "SIGTERM at a time": (2, terminated_in_time),
    "full disk": (4, full_disk),
    "read-only folders": (3, read_only),
    "out of memory": (3, no_memory),
    "clock jump": (2, clock_jump),
    "two at once": (3, twice),
}


def _at_change(
    scenario: Scenario,
    arena: Arena,
    usual: Usual,
    draw: random.Random,
    act: Callable[[], None],
    prepare: Callable[[], None] = lambda: None,
) -> Struck:
    number, counter, before = _change(usual, draw), Counter(), arena.leftovers()

    def begin() -> None:
        prepare()
        at_change(number, arena.case, counter, act)

    command = arena.start(scenario, begin)
    scenario.drive(command)
    ended = command.wait(_patience(usual))
    moment, struck = f"change {number} of {usual.changes}", counter.value >= number
    return Struck(_judge(ended, arena, before), moment, ended.code, _last(ended), struck)


def _in_time(scenario: Scenario, arena: Arena, usual: Usual, draw: random.Random, number: int) -> Struck:
    moment, before = draw.uniform(0, usual.seconds), arena.leftovers()
    command = arena.start(scenario)
    deadline = command.began + moment
    while command.running() and time.monotonic() < deadline:
        time.sleep(0.002)
    command.send(number)
    ended = command.wait(_patience(usual))
    shown, struck = f"{moment:.2f} s of {usual.seconds:.2f}", ended.code != 0
    return Struck(_judge(ended, arena, before), shown, ended.code, _last(ended), struck)


def _judge(ended: Ended, arena: Arena, before: list[str] | None) -> str:
    """What is wrong with the end of a command, whatever happened to it; `before` are leftovers that were there."""
    if ended.orphans:
        return f"left running: {ended.orphans}"
    if "Traceback (most recent call last)" in ended.said:
        return "a traceback"
    if ended.killed:
        return "" if ended.code in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGTERM) else f"signal {-ended.code}"
    if ended.code not in (0, 2, INTERRUPTED, TERMINATED):
        return f"exit code {ended.code}"
    if ended.code == 2 and not ended.said.splitlines()[-1].startswith("twinlode: "):
        return "exit code 2 without a sentence"
    left = sorted(set(arena.leftovers()).difference(before)) if before is not None and ended.code else []
    return f"left behind: {', '.join(left[:4])}" if left else ""


def _obey_modes() -> None:
    """Even root may then write only where modes allow it."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    data[0] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    libc.capset(header, data)


def _holds_lock(pid: int) -> bool:
    return any(line.split()[1] == "FLOCK" and line.split()[4] == str(pid) for line in Path("/proc/locks").open())


def _change(usual: Usual, draw: random.Random) -> int:
    """Rather early: a command that goes on where it was killed has less left to do."""
    return 1 + int(usual.changes * draw.random() ** 1.5)


def _patience(usual: Usual) -> float:
    return 60 + 20 * usual.seconds


def _last(ended: Ended) -> str:
    lines = ended.said.strip().splitlines()
    return lines[-1][:300] if lines else ""
