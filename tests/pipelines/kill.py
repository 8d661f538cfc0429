"""SIGKILL at random moments in every stage of a small job, then run it again: `make test-kill`.

Seeded, so that a failure can be had again. After each kill the job is run to its end by the next attempts; what was
finished before a kill must not be made again, and the pairs must be those of an undisturbed run.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pipelines.datasets.manifest import open_dataset
from pipelines.mine.job import mine_corpora
from pipelines.runners.runner import RunnerSettings
from tests.pipelines.corpora import job, write_corpora, write_encoder

KILLS = 24
LONGEST_WAIT = 1.0  # seconds into a stage
STAGES = ("src", "tgt", "src-vectors", "tgt-vectors", "graph", "pairs")
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
    """Work in a process of its own, forked from this one so that nothing is imported again."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.process = os.fork()
        if self.process == 0:
            try:
                work()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)

    def running(self) -> bool:
        return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def wait(self) -> int:
        return os.waitpid(self.process, 0)[1]


def mine(folder: Path, work: str) -> Run:
    return Run(lambda: mine_corpora(job(folder, work, rows_per_shard=40), RunnerSettings(processes=1)))


def finished_work(work: Path) -> dict[Path, int]:
    """Every finished piece with the time it was written: shards, and scratch files where the stage is not complete."""
    found = [path for path in work.glob("*/*") if path.suffix in (".parquet", ".arrow", ".json") and path.is_file()]
    for stage in STAGES:
        found += [path for note in NOTES for path in (work / stage / "_work").glob(note)]
    return {path: path.stat().st_mtime_ns for path in found}


def stage_of(work: Path) -> str:
    """The first stage that is not complete."""
    return next((stage for stage in STAGES if not (work / stage / "manifest.json").exists()), "end")


def pairs(work: Path) -> list[bytes]:
    """The files of the pairs in order; their names are those of an attempt, and the manifest has them."""
    dataset = open_dataset(str(work / "pairs"), "pairs")
    names = [name for shard in dataset.shards for name in (shard.name, f"rejected-{shard.name}")]
    extra = [path for path in (work / "pairs").iterdir() if path.name not in {*names, "manifest.json", "curve.json"}]
    assert not extra, f"left over: {extra}"
    return [(work / "pairs" / name).read_bytes() for name in (*names, "curve.json")]


def kill_in(stage: str, folder: Path, number: int, draw: random.Random, hits: Counter[str]) -> Path:
    """Begin a job, kill it at a random moment of a stage, and run it again to its end."""
    work = folder / f"killed{number}"
    run = mine(folder, work.name)
    while run.running() and _order(stage_of(work)) < _order(stage):
        time.sleep(0.002)
    time.sleep(draw.uniform(0, LONGEST_WAIT))
    run.kill()
    hits[stage_of(work)] += 1
    before = finished_work(work)
    assert mine(folder, work.name).wait() == 0, f"kill {number} in {stage}: the rerun failed"
    after = finished_work(work)
    redone = {path for path, when in before.items() if path in after and after[path] != when}
    assert not redone, f"kill {number} in {stage}: made again: {sorted(map(str, redone))}"
    return work


def _order(stage: str) -> int:
    return STAGES.index(stage) if stage in STAGES else len(STAGES)


def main(kills: int = KILLS, seed: int = 0) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    draw = random.Random(seed)
    hits: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpora(folder)
        if os.fork() == 0:  # torch starts threads, which a fork would lose
            write_encoder(folder / "encoder")
            os._exit(0)
        os.wait()
        assert mine(folder, "whole").wait() == 0
        expected = pairs(folder / "whole")
        for number in range(kills):
            work = kill_in(STAGES[number % len(STAGES)], folder, number, draw, hits)
            assert pairs(work) == expected, f"kill {number}: other pairs than those of an undisturbed run"
            print(f"{number + 1}/{kills} killed; so far in {dict(hits)}", flush=True)
    print(f"{kills} kills, every rerun gave the same pairs and redid nothing that was finished")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
