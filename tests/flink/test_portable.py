"""The whole mine on a real Flink cluster gives, bit for bit, the pairs of the local runner (`make test-flink`)."""

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
import pytest

from pipelines.datasets.manifest import open_dataset
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.pair_search import JobResult
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.clusters import FlinkSettings
from pipelines.runners.runner import Runner, load_runner
from tests.flink.cluster import SLOTS, TASK_MANAGERS, Cluster, Unavailable, answers, free_port
from tests.pipelines.corpora import job

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),  # minutes on a busy machine
    pytest.mark.skipif("TWINLODE_FLINK" not in os.environ, reason="takes a minute and a cluster: make test-flink"),
]

CONFIG = Path(__file__).parents[2] / "configs" / "runners" / "flink.yaml"


@pytest.fixture(scope="module")
def expected(corpora: Path) -> list[bytes]:
    return shards(mine_corpora(job(corpora, "local", rows_per_shard=60)).pairs.url)


def shards(url: str) -> list[bytes]:
    dataset = open_dataset(url, "pairs")
    names = [name for shard in dataset.shards for name in (shard.name, f"rejected-{shard.name}")]
    return [Path(url, name).read_bytes() for name in names]


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


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        with Cluster() as running:
            yield running
    except Unavailable as reason:
        pytest.fail(str(reason))


def test_cluster_is_separate_processes(cluster: Cluster) -> None:
    assert len(set(cluster.process_ids)) == 1 + TASK_MANAGERS + 1
    overview = cluster.overview()
    assert overview["taskmanagers"] == TASK_MANAGERS
    assert overview["slots-total"] == TASK_MANAGERS * SLOTS


def test_workers_in_the_submitting_process_find_the_same_pairs(
    cluster: Cluster, corpora: Path, expected: list[bytes]
) -> None:
    settings = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    found = mine_corpora(job(corpora, "loopback", rows_per_shard=60), settings)
    assert shards(found.pairs.url) == expected


def test_workers_from_a_pool_find_the_same_pairs(cluster: Cluster, corpora: Path, expected: list[bytes]) -> None:
    """As `configs/runners/flink.yaml` ships it: a pool starts Python processes for both TaskManagers and every job."""
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}", "parallelism=2"]
        settings = load_runner(str(CONFIG), here)
        assert isinstance(settings, FlinkSettings)
        assert settings.environment == "EXTERNAL"
        found = mine_corpora(job(corpora, "pool", rows_per_shard=60), settings)
    assert shards(found.pairs.url) == expected


def fault_once(folder: Path, strike: Callable[[], None]) -> threading.Thread:
    """Strike when the first vectors are there, in the middle of the job."""

    def wait_and_strike() -> None:
        end = time.monotonic() + 600
        while not list(folder.glob("*-vectors/_work/shards/*.json")) and time.monotonic() < end:
            time.sleep(0.05)
        strike()

    thread = threading.Thread(target=wait_and_strike)
    thread.start()
    return thread


def mine_again(settings: JobSettings, runner: Runner) -> JobResult:
    """The mine, by the same command again where Flink has given the job up."""
    try:
        return mine_corpora(settings, runner)
    except RuntimeError as error:
        assert "failed in state FAILED" in str(error)
        return mine_corpora(settings, runner)


def test_a_task_manager_that_is_killed_changes_no_pair(cluster: Cluster, corpora: Path, expected: list[bytes]) -> None:
    before = cluster.failures()
    everywhere = TASK_MANAGERS * SLOTS
    settings = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=everywhere)
    thread = fault_once(corpora / "lost", cluster.replace_task_manager)
    found = mine_again(job(corpora, "lost", rows_per_shard=60), settings)
    thread.join()
    assert cluster.failures() > before
    assert shards(found.pairs.url) == expected


def test_python_workers_that_are_killed_change_no_pair(cluster: Cluster, corpora: Path, expected: list[bytes]) -> None:
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}", "parallelism=2"]
        thread = fault_once(corpora / "lost-worker", pool.kill_workers)
        found = mine_again(job(corpora, "lost-worker", rows_per_shard=60), load_runner(str(CONFIG), here))
        thread.join()
    assert shards(found.pairs.url) == expected
