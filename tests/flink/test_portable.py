"""The whole mine on portable runners gives, bit for bit, the pairs of the local runner (`make test-flink`)."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.clusters import FlinkSettings
from pipelines.job import mine_corpora
from tests.flink.cluster import TASK_MANAGERS, Cluster, Unavailable, free_port, job_server_jar
from tests.pipelines.corpora import job, write_corpora, write_encoder

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif("TWINLODE_FLINK" not in os.environ, reason="takes a minute and a cluster: make test-flink"),
]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    write_corpora(folder)
    write_encoder(folder / "encoder")
    return folder


@pytest.fixture(scope="module")
def expected(corpora: Path) -> dict[str, bytes]:
    return shards(mine_corpora(job(corpora, "local", rows_per_shard=60)).pairs.url)


def shards(url: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(url).glob("*.parquet")}


@contextmanager
def serving(port: int, module: str, *arguments: str) -> Iterator[None]:
    """A Beam service as a process of its own, for as long as the block runs."""
    command = [sys.executable, "-m", module, *arguments, str(port)]
    # A worker pool starts whatever `python` comes first.
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command, env=os.environ | path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not answers(port):
            assert process.poll() is None
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the workers that a pool has started
        process.wait(20)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("localhost", port)) == 0


def test_beams_own_job_service_with_a_pool_of_workers(corpora: Path, expected: dict[str, bytes]) -> None:
    """Submission, artifacts and workers all through the portability API, in three processes."""
    jobs, pool = free_port(), free_port()
    with (
        serving(jobs, "apache_beam.runners.portability.local_job_service_main", "--port"),
        serving(pool, "apache_beam.runners.worker.worker_pool_main", "--service_port"),
    ):
        runner = FlinkSettings(
            job_endpoint=f"localhost:{jobs}", environment="EXTERNAL", environment_config=f"localhost:{pool}"
        )
        found = mine_corpora(job(corpora, "portable", rows_per_shard=60), runner)
    assert shards(found.pairs.url) == expected


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        with Cluster() as running:
            yield running
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_cluster_is_three_processes(cluster: Cluster) -> None:
    assert len(set(cluster.process_ids)) == 1 + TASK_MANAGERS
    assert cluster.overview()["slots-total"] >= TASK_MANAGERS


@pytest.mark.parametrize("environment", ["LOOPBACK", "EXTERNAL"])
def test_flink_finds_the_same_pairs(
    cluster: Cluster, corpora: Path, expected: dict[str, bytes], environment: str
) -> None:
    try:
        jar = str(job_server_jar())
    except Unavailable as reason:
        pytest.skip(str(reason))
    pool = free_port()
    settings = FlinkSettings(master=cluster.master, job_server_jar=jar, environment=environment, parallelism=2)
    if environment == "LOOPBACK":
        found = mine_corpora(job(corpora, "loopback", rows_per_shard=60), settings)
    else:
        settings = settings.model_copy(update={"environment_config": f"localhost:{pool}"})
        with serving(pool, "apache_beam.runners.worker.worker_pool_main", "--service_port"):
            found = mine_corpora(job(corpora, "external", rows_per_shard=60), settings)
    assert shards(found.pairs.url) == expected
