"""SIGKILL at random moments in every stage of a small job, then run it again: `make test-kill`.

Seeded, so that a failure can be had again. A job says when a stage begins, and is killed at a moment within the time
that the stage took undisturbed, until every stage was hit often enough. Then it is run to its end: what was finished
before the kill must not be made again, and the pairs must be those of an undisturbed run.
"""

from __future__ import annotations

import logging
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pipelines.datasets.manifest import open_dataset
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.runner import RunnerSettings
from tests.forked import fork
from tests.pipelines.corpora import job, write_corpora, write_encoder

HITS = 4  # at least, in every stage
ATTEMPTS = 10  # at most, for each hit that is asked for
STAGES = ("prepare src", "prepare tgt", "embed src", "embed tgt", "graph", "mine")
FOLDERS = ("src", "tgt", "src-vectors", "tgt-vectors", "graph", "pairs")
# What a stage leaves when a piece of its work is finished.
NOTES = (
    "parts/*.json",
    "shards/*.json",
    "cells/*.npz",
    "merged/*.json",
    "means/*.npy",
    "proposals/*.npy",
    "filtered/*.json",
)


class Run:
    """Work in a process of its own."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.process = fork(work)

    def running(self) -> bool:
        return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def wait(self) -> int:
        return os.waitpid(self.process, 0)[1]


class Mine(Run):
    """A small job that says through a pipe which stage it begins."""

    def __init__(self, folder: Path, work: str) -> None:
        self._stages, end = os.pipe()
        os.set_blocking(self._stages, False)

        def say(stage: str) -> None:
            os.write(end, f"{stage}\n".encode())

        settings = job(folder, work, rows_per_shard=40)
        super().__init__(lambda: mine_corpora(settings, RunnerSettings(processes=1), report=say))
        os.close(end)
        self.begun: dict[str, float] = {}

    def listen(self, seconds: float) -> bool:
        """Take in what the job says until then; whether it says any more."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and select.select([self._stages], [], [], left)[0]:
            said = os.read(self._stages, 4096)
            if not said:
                return False
            self.begun |= dict.fromkeys(said.decode().split("\n")[:-1], time.monotonic())
        return True

    @property
    def stage(self) -> str:
        """The stage that began last."""
        return next(reversed(self.begun), "start")


def times_of(run: Mine) -> dict[str, float]:
    """Seconds that each stage of an undisturbed job takes."""
    while run.listen(60.0):
        pass
    moments = [*run.begun.values(), time.monotonic()]
    assert tuple(run.begun) == STAGES and run.wait() == 0
    return {stage: end - begin for stage, begin, end in zip(run.begun, moments, moments[1:], strict=False)}


def finished_work(work: Path) -> dict[Path, int]:
    """Every finished piece with the time it was written: shards, and scratch files where the stage is not complete."""
    found = [path for path in work.glob("*/*") if path.suffix in (".parquet", ".arrow", ".json") and path.is_file()]
    for stage in FOLDERS:
        found += [path for note in NOTES for path in (work / stage / "_work").glob(note)]
    chosen = any((work / "pairs" / name).exists() for name in ("_work/selected.json", "manifest.json"))
    # The curve is written before what says that pairs are selected: it is finished with that.
    return {path: path.stat().st_mtime_ns for path in found if chosen or path.name != "curve.json"}


def pairs(work: Path) -> list[bytes]:
    """The files of the pairs in order; their names are those of an attempt, and the manifest has them."""
    dataset = open_dataset(str(work / "pairs"), "pairs")
    names = [name for shard in dataset.shards for name in (shard.name, f"rejected-{shard.name}")]
    extra = [path for path in (work / "pairs").iterdir() if path.name not in {*names, "manifest.json", "curve.json"}]
    assert not extra, f"left over: {extra}"
    return [(work / "pairs" / name).read_bytes() for name in (*names, "curve.json")]


def kill_in(stage: str, moment: float, folder: Path, work: Path) -> str:
    """Begin a job, kill it some seconds after a stage began, and run it again to its end; the stage that was hit."""
    run = Mine(folder, work.name)
    alive = True
    while alive and stage not in run.begun:
        alive = run.listen(0.01)
    alive = alive and run.listen(moment)
    hit = run.stage if alive else "end"
    run.kill()
    before = finished_work(work)
    assert Mine(folder, work.name).wait() == 0, f"{work.name}, in {hit}: the rerun failed"
    after = finished_work(work)
    redone = {path for path, when in before.items() if path in after and after[path] != when}
    assert not redone, f"{work.name}, in {hit}: made again: {sorted(map(str, redone))}"
    return hit


def main(hits: int = HITS, seed: int = 0) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    draw = random.Random(seed)
    struck = Counter(dict.fromkeys(STAGES, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpora(folder)
        if os.fork() == 0:  # torch starts threads, which a fork would lose
            write_encoder(folder / "encoder")
            os._exit(0)
        os.wait()
        seconds = times_of(Mine(folder, "whole"))
        expected = pairs(folder / "whole")
        while (stage := min(STAGES, key=struck.__getitem__)) and struck[stage] < hits:
            number = struck.total() + 1
            assert number <= ATTEMPTS * hits * len(STAGES), f"{stage} was not hit often enough: {dict(struck)}"
            work = folder / f"killed{number}"
            struck[kill_in(stage, draw.uniform(0, seconds[stage]), folder, work)] += 1
            assert pairs(work) == expected, f"{work.name}: other pairs than those of an undisturbed run"
            print(f"{number} killed; so far in {dict(struck)}", flush=True)
    print(f"{struck.total()} kills, every rerun gave the same pairs and redid nothing that was finished")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
