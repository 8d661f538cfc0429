"""The whole mine of two small corpora, for tests of clusters: its pairs, its Python workers, faults in its middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from pipelines.datasets.manifest import open_dataset
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.pair_search import JobResult
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.runner import Runner
from tests.pipelines.corpora import job
from tests.portable.java_cluster import answers, free_port

CONFIGS = Path(__file__).parents[2] / "configs" / "runners"


def whole_mine(corpora: Path, work: str) -> JobSettings:
    return job(corpora, work, rows_per_shard=60)


def pair_files(found: JobResult) -> list[bytes]:
    """The files of pairs, kept and rejected, to be compared bit for bit."""
    dataset = open_dataset(found.pairs.url, "pairs")
    names = [name for shard in dataset.shards for name in (shard.name, f"rejected-{shard.name}")]
    return [Path(dataset.url, name).read_bytes() for name in names]


class Pool(NamedTuple):
    """Beam's worker pool, by its address and process."""

    address: str
    process: subprocess.Popen[bytes]

    def kill_workers(self) -> None:
        """SIGKILL to every worker that it has now; it starts others when asked to."""
        for worker in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                worker.kill()


@contextmanager
def worker_pool() -> Iterator[Pool]:
    """A worker pool in a process of its own for as long as the block runs."""
    port = free_port()
    command = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    # It starts whatever `python` comes first.
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command, env=os.environ | path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        end = time.monotonic() + 60
        while not answers(f"localhost:{port}"):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.2)
        yield Pool(f"localhost:{port}", process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the workers that a pool has started
        process.wait(20)


@contextmanager
def fault_once(folder: Path, strike: Callable[[], None]) -> Iterator[None]:
    """Strike when the first vectors are there, in the middle of the job that runs in the block."""

    def wait_and_strike() -> None:
        end = time.monotonic() + 600
        while not list(folder.glob("*-vectors/_work/shards/*.json")) and time.monotonic() < end:
            time.sleep(0.05)
        strike()

    thread = threading.Thread(target=wait_and_strike, daemon=True)  # a test that fails does not wait for it
    thread.start()
    yield
    thread.join()


def mine_again(settings: JobSettings, runner: Runner) -> JobResult:
    """The mine, by the same command again where the cluster has given the job up."""
    try:
        return mine_corpora(settings, runner)
    except RuntimeError as error:
        assert "failed in state FAILED" in str(error)
        return mine_corpora(settings, runner)
