"""The whole mine on a real Spark cluster gives, bit for bit, the pairs of the local runner (`make test-spark`)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.mine.text_job import mine_corpora
from pipelines.runners.clusters import SparkSettings
from pipelines.runners.runner import load_runner
from tests.portable.java_cluster import Unavailable
from tests.portable.whole_mine import CONFIGS, fault_once, pair_files, whole_mine, worker_pool
from tests.spark.cluster import WORKERS, SparkCluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),  # minutes on a busy machine
    pytest.mark.skipif("TWINLODE_SPARK" not in os.environ, reason="takes a minute and a cluster: make test-spark"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    try:
        with SparkCluster() as running:
            yield running
    except Unavailable as reason:
        pytest.fail(str(reason))


def test_cluster_is_separate_processes(cluster: SparkCluster) -> None:
    assert len(set(cluster.process_ids)) == 1 + WORKERS + 1
    assert cluster.overview()["aliveworkers"] == WORKERS


def test_workers_from_a_pool_find_the_same_pairs(cluster: SparkCluster, corpora: Path, expected: list[bytes]) -> None:
    """As `configs/runners/spark.yaml` ships it: a pool starts Python processes for the executors of both workers."""
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}"]
        settings = load_runner(str(CONFIGS / "spark.yaml"), here)
        assert isinstance(settings, SparkSettings)
        assert settings.environment == "EXTERNAL"
        found = mine_corpora(whole_mine(corpora, "pool"), settings)
    assert cluster.busy_executors() == WORKERS
    assert pair_files(found) == expected


def test_a_worker_that_is_killed_changes_no_pair(cluster: SparkCluster, corpora: Path, expected: list[bytes]) -> None:
    """Spark does what was lost again, on its other worker and on the one that comes in its place."""
    before = cluster.lost_executors()
    settings = SparkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK")
    with fault_once(corpora / "lost", cluster.replace_worker):
        found = mine_corpora(whole_mine(corpora, "lost"), settings)
    assert cluster.lost_executors() > before
    assert pair_files(found) == expected
