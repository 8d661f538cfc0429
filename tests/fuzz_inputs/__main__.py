"""`make fuzz-inputs CASES=10000`: bad inputs, drawn from a seed and the number of the case.

Each must end in exit code 0, or in exit code 2 and one sentence that names the file: no traceback, nothing that takes
longer than its time or more memory than its budget. Cases run in forked processes, many in one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter as Tally
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz_inputs.inputs import write_fuzz_inputs
from tests.fuzz_inputs.mutations import COMPRESSIONS
from tests.fuzz_inputs.targets import TARGETS, Target, drawn_name, drawn_options
from tests.soak.arena import Arena
from tests.soak.imports import import_everything
from tests.soak.moments import Counter
from tests.soak.process import adopt_orphans, forked

SECONDS = 20  # of CPU
MEMORY = 1 << 30  # more than the process has when a case begins
_BATCH = 250
_KINDS = {"file": 14, "options": 2, "names": 1}


class TimedOut(BaseException):
    """Not an Exception: nothing may catch it."""


class Case(NamedTuple):
    """What is tried: a command or call, after a file was written; what a refusal names."""

    title: str
    arguments: tuple[str, ...]
    target: Target | None
    path: str
    names: tuple[str, ...]
    restore: tuple[Path, bytes] | None


def draw_case(number: int, seed: int, world: Path) -> Case:
    """Draw a case and write its file into the working folder."""
    draw = random.Random(f"{seed} {number}")
    kind = draw.choices(list(_KINDS), list(_KINDS.values()))[0]
    if kind == "options":
        name, arguments = drawn_options(draw)
        return Case(f"options of {name}", arguments, None, "", (), None)
    if kind == "names":
        source, name, arguments = drawn_name(draw)
        path = f"named/{name}"
        Path("named").mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            shutil.copyfile(world / source, path)
        return Case("names", tuple(part.replace("{}", path) for part in arguments), None, path, (), None)
    target = draw.choices(TARGETS, [target.weight for target in TARGETS])[0]
    return _spoilt(target, draw, world)


def _spoilt(target: Target, draw: random.Random, world: Path) -> Case:
    found = sorted(world.glob(target.path))[0].relative_to(world)
    good = (world / found).read_bytes()
    mutate = draw.choice(target.mutations)
    end = draw.choice(list(COMPRESSIONS)) if target.compress else ""
    data = COMPRESSIONS[end](good)
    if end and draw.random() < 0.5:  # the archive, or what is in it
        data = draw.choice(target.mutations)(data, draw)
    else:
        data = COMPRESSIONS[end](mutate(good, draw))
    path = Path(f"{found}{end}")
    path.write_bytes(data)
    arguments = tuple(part.replace("{}", str(path)) for part in target.arguments)
    names = (path.name, *target.names)
    title = f"{target.name}{end} {mutate.__name__}"
    return Case(title, arguments, target, str(path), names, (path, good if not end else b""))


def attempt(case: Case) -> str:
    """Run a case in this process; what is wrong, if anything."""
    said = io.StringIO()
    code, escaped = 0, ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = _run(case, said)
    except TimedOut:
        return f"longer than {SECONDS} s of CPU"
    except BaseException:
        escaped = traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if escaped:
        return f"a traceback: {_short(escaped)}"
    return _judge(case, code, said.getvalue())


def _run(case: Case, said: io.StringIO) -> int:
    from mining.errors import InputError
    from pipelines.cli import main

    if case.target is not None and case.target.call is not None:
        try:
            case.target.call(case.path)
        except InputError as error:
            said.write(f"twinlode: {' '.join(str(error).splitlines())}\n")
            return 2
        return 0
    sys.argv = ["twinlode", *case.arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    return 0


def _judge(case: Case, code: int, said: str) -> str:
    last = said.strip().splitlines()[-1] if said.strip() else ""
    if "Traceback" in said:
        return f"a traceback: {_short(said)}"
    if "not enough memory" in last:
        return f"more than {MEMORY >> 20} MB: {last}"
    if code == 0:
        same = case.restore is not None and Path(case.path).read_bytes() == case.restore[1]
        refuse = case.target is not None and case.target.must_refuse and not same
        return "taken as if nothing were wrong" if refuse else _counted(Path("out/manifest.json"))
    if code != 2:
        return f"exit code {code}: {last[:200]}"
    usage = last.startswith(("Error:", "│", "╰", "Try ")) or "Usage:" in said
    if not last.startswith("twinlode: ") and not usage:
        return f"exit code 2 without a sentence: {last[:200]}"
    if len(last) > 3000 and not usage:  # Typer repeats what the user gave
        return f"a sentence of {len(last)} characters: {last[:200]}"
    if case.names and not any(name in last for name in case.names):
        return f"does not name the file: {last[:300]}"
    return ""


def _counted(manifest: Path) -> str:
    """Every row that came in was kept, or has its reason."""
    if not manifest.exists():
        return ""
    counters = json.loads(manifest.read_bytes())["counters"]
    whole = counters["rows_in"] == counters["kept"] + sum(counters["dropped"].values())
    return "" if whole else f"rows lost: {counters}"


def _short(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    places = [line for line in lines if line.startswith('File "') and "/site-packages/" not in line]
    return f"{lines[-1][:300]} ({places[-1] if places else ''})"


class Fuzz:
    """Cases by number; what they do to the folder is undone after each."""

    def __init__(self, root: Path, seed: int) -> None:
        self.arena, self.seed, self.failures = Arena(root), seed, root / "failures.jsonl"
        self.seen: Tally[str] = Tally()

    def build(self) -> None:
        """Make the inputs, unless they were made before."""
        if (self.arena.world / "fuzz" / "v.arrow").exists():
            return
        self.arena.build()
        self.arena.reset()
        if forked(lambda: write_fuzz_inputs(self.arena.case)):
            raise SystemExit("the inputs could not be made")
        shutil.rmtree(self.arena.world)
        shutil.copytree(self.arena.case, self.arena.world, symlinks=True)

    def run(self, numbers: list[int]) -> list[tuple[int, str]]:
        """Failures among these cases; a process that a case ends is one of them."""
        failed: list[tuple[int, str]] = []
        while numbers:
            place, reader, writer = Counter(), *os.pipe()
            self.arena.reset()
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                self._child(numbers, place, writer)
            os.close(writer)
            with os.fdopen(reader) as stream:
                failed += [tuple(json.loads(line)) for line in stream]
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code:
                failed.append((numbers[place.value], f"the process ended with {code}"))
                numbers = numbers[place.value + 1 :]
            else:
                numbers = []
        return failed

    def _child(self, numbers: list[int], place: Counter, writer: int) -> None:
        os.setsid()
        os.chdir(self.arena.case)
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(sink, stream)
        signal.signal(signal.SIGPROF, _time_out)
        for number in numbers:
            _limit_memory()
            case = draw_case(number, self.seed, self.arena.world)
            wrong = attempt(case)
            if wrong:
                told = [number, f"{case.title}: {wrong}"]
                os.write(writer, json.dumps(told, ensure_ascii=True).encode() + b"\n")
            self._restore()
            place.add()
        os._exit(0)

    def _restore(self) -> None:
        """The folder as it was: what is new goes, and what is other or missing comes back."""
        world, case = self.arena.world, self.arena.case
        for parent, folders, files in os.walk(case, topdown=False):
            inside = Path(parent).relative_to(case)
            for name in files:
                good, mine = world / inside / name, Path(parent, name)
                if not good.exists():
                    mine.unlink()
                elif mine.stat().st_mtime_ns != good.stat().st_mtime_ns or mine.stat().st_size != good.stat().st_size:
                    shutil.copy2(good, mine)
            for name in folders:
                if not (world / inside / name).exists():
                    shutil.rmtree(Path(parent, name), ignore_errors=True)
        for good in world.rglob("*"):
            mine = case / good.relative_to(world)
            if not mine.exists():
                mine.mkdir() if good.is_dir() else shutil.copy2(good, mine)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))


def _time_out(number: int, frame: Any) -> None:
    raise TimedOut


def main(given: argparse.Namespace) -> int:
    root = Path(given.folder)
    root.mkdir(parents=True, exist_ok=True)
    import_everything()
    adopt_orphans()
    fuzz = Fuzz(root, given.seed)
    fuzz.build()
    first = given.case if given.case is not None else given.first
    last = first + (1 if given.case is not None else given.cases)
    print(f"seed {given.seed}, cases {first} to {last - 1}", flush=True)
    deadline, done, failed = time.monotonic() + 60 * given.minutes, 0, 0
    try:
        for begin in range(first, last, _BATCH):
            if time.monotonic() > deadline:
                break
            numbers = list(range(begin, min(begin + _BATCH, last)))
            for number, wrong in fuzz.run(numbers):
                failed += 1
                with fuzz.failures.open("a") as stream:
                    stream.write(json.dumps({"seed": given.seed, "case": number, "wrong": wrong}) + "\n")
                print(f"case {number}: {wrong}", flush=True)
            done += len(numbers)
            print(f"{done} cases, {failed} failed", flush=True)
    finally:
        fuzz.arena.close()
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="runs/fuzz-inputs", help="inputs and failures")
    sys.exit(main(parser.parse_args()))
