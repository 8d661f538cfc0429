"""The whole mine on a real Flink cluster gives, bit for bit, the pairs of the local runner (`make test-flink`)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.align.align_job import align_documents
from pipelines.align.align_stage import align_on_runner
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.clusters import FlinkSettings
from pipelines.runners.runner import load_runner
from tests.flink.cluster import SLOTS, TASK_MANAGERS, FlinkCluster
from tests.pipelines.align.test_align import encoder, two_folders
from tests.pipelines.align.test_align_stage import settings, summary
from tests.portable.java_cluster import Unavailable
from tests.portable.whole_mine import CONFIGS, fault_once, mine_again, pair_files, whole_mine, worker_pool

__all__ = ["encoder"]
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),  # minutes on a busy machine
    pytest.mark.skipif("TWINLODE_FLINK" not in os.environ, reason="takes a minute and a cluster: make test-flink"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FlinkCluster]:
    try:
        with FlinkCluster() as running:
            yield running
    except Unavailable as reason:
        pytest.fail(str(reason))


def test_cluster_is_separate_processes(cluster: FlinkCluster) -> None:
    assert len(set(cluster.process_ids)) == 1 + TASK_MANAGERS + 1
    overview = cluster.overview()
    assert overview["taskmanagers"] == TASK_MANAGERS
    assert overview["slots-total"] == TASK_MANAGERS * SLOTS


def test_workers_in_the_submitting_process_find_the_same_pairs(
    cluster: FlinkCluster, corpora: Path, expected: list[bytes]
) -> None:
    settings = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    found = mine_corpora(whole_mine(corpora, "loopback"), settings)
    assert pair_files(found) == expected


def test_workers_from_a_pool_find_the_same_pairs(cluster: FlinkCluster, corpora: Path, expected: list[bytes]) -> None:
    """As `configs/runners/flink.yaml` ships it: a pool starts Python processes for both TaskManagers and every job."""
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}", "parallelism=2"]
        settings = load_runner(str(CONFIGS / "flink.yaml"), here)
        assert isinstance(settings, FlinkSettings)
        assert settings.environment == "EXTERNAL"
        found = mine_corpora(whole_mine(corpora, "pool"), settings)
    assert pair_files(found) == expected


def test_a_task_manager_that_is_killed_changes_no_pair(
    cluster: FlinkCluster, corpora: Path, expected: list[bytes]
) -> None:
    before = cluster.failures()
    everywhere = TASK_MANAGERS * SLOTS
    settings = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=everywhere)
    with fault_once(corpora / "lost", cluster.replace_task_manager):
        found = mine_again(whole_mine(corpora, "lost"), settings)
    assert cluster.failures() > before
    assert pair_files(found) == expected


def test_python_workers_that_are_killed_change_no_pair(
    cluster: FlinkCluster, corpora: Path, expected: list[bytes]
) -> None:
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}", "parallelism=2"]
        with fault_once(corpora / "lost-worker", pool.kill_workers):
            found = mine_again(whole_mine(corpora, "lost-worker"), load_runner(str(CONFIGS / "flink.yaml"), here))
    assert pair_files(found) == expected


def test_documents_are_aligned_as_in_memory(cluster: FlinkCluster, encoder: Path, tmp_path: Path) -> None:
    chosen = settings(encoder, *two_folders(tmp_path))
    runner = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    assert summary(align_on_runner(chosen, str(tmp_path / "work"), runner)) == summary(align_documents(chosen))
