"""The whole mine on portable runners gives, bit for bit, the pairs of the local runner (`make test-flink`)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.clusters import FlinkSettings
from pipelines.job import mine_corpora
from pipelines.prepare import PrepareSettings, prepare
from tests.flink.cluster import SLOTS, TASK_MANAGERS, Cluster, Unavailable, answers, free_port
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
        end = time.monotonic() + 60
        while not answers(f"localhost:{port}"):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the workers that a pool has started
        process.wait(20)


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


def test_cluster_is_separate_processes(cluster: Cluster) -> None:
    assert len(set(cluster.process_ids)) == 1 + TASK_MANAGERS + 1
    assert cluster.overview()["slots-total"] == TASK_MANAGERS * SLOTS


def test_flink_finds_the_same_pairs(cluster: Cluster, corpora: Path, expected: dict[str, bytes]) -> None:
    settings = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    found = mine_corpora(job(corpora, "loopback", rows_per_shard=60), settings)
    assert shards(found.pairs.url) == expected


def test_flink_takes_workers_from_a_pool(cluster: Cluster, corpora: Path) -> None:
    """One stage only: a pool starts new Python processes for every job, most of a minute on a busy machine."""
    source = job(corpora).source
    side = PrepareSettings(inputs=source.inputs, out="", read=source.read, lang_filter=source.lang_filter)
    local, pooled = (side.model_copy(update={"out": str(corpora / name)}) for name in ("here", "pooled"))
    pool = free_port()
    settings = FlinkSettings(
        job_endpoint=cluster.job_endpoint, environment="EXTERNAL", environment_config=f"localhost:{pool}", parallelism=2
    )
    with serving(pool, "apache_beam.runners.worker.worker_pool_main", "--service_port"):
        found = prepare(pooled, settings)
    assert shards(found.url) == shards(prepare(local).url) != {}
