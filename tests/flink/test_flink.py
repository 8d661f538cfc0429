"""The whole mine on a real Flink cluster gives, bit for bit, the pairs of the local runner (`make test-flink`)."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipelines.align.align_job import align_documents
from pipelines.align.align_stage import align_on_runner
from pipelines.graph import partition_plan
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine import candidate_ends, pair_stage, rescoring_steps
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.clusters import FlinkSettings
from pipelines.runners.runner import load_runner
from tests.flink.cluster import SLOTS, TASK_MANAGERS, FlinkCluster
from tests.pipelines.align.test_align import encoder, two_folders
from tests.pipelines.align.test_align_stage import settings, summary
from tests.pipelines.clean.conftest import scoring_encoder
from tests.pipelines.clean.test_rescored_mine import job_of
from tests.pipelines.graph.test_partition import neighbours, same
from tests.pipelines.graph.vector_datasets import write_side
from tests.portable.java_cluster import Unavailable
from tests.portable.whole_mine import CONFIGS, fault_once, mine_again, pair_files, whole_mine, worker_pool

__all__ = ["encoder", "scoring_encoder"]
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


def test_candidates_are_scored_again_by_workers(
    cluster: FlinkCluster, scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ends meet in several small ranges of ids, through Flink's shuffle."""
    for module in (candidate_ends, pair_stage, rescoring_steps):
        monkeypatch.setattr(module, "ROWS", 16)
    runner = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    settings = job_of(scoring_encoder, tmp_path, rows_per_shard=20)
    there = mine_corpora(settings.model_copy(update={"work": str(tmp_path / "there")}), runner)
    assert pair_files(there) == pair_files(mine_corpora(settings))


def test_a_partitioned_graph_is_that_of_one_process(
    cluster: FlinkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors go to several keys through Flink's shuffle; here in three shards, there in eight."""
    draw = np.random.default_rng(0)
    sides = [draw.standard_normal((1200, 16)).astype(np.float32) for _ in range(2)]
    monkeypatch.setattr(partition_plan, "KEY_BYTES", 1 << 18)
    runner = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    found = []
    for shards, where in ((3, None), (8, runner)):
        urls = [write_side(tmp_path / f"{name}{shards}", side, shards) for name, side in zip("xy", sides, strict=True)]
        out = str(tmp_path / f"graph{shards}")
        found.append(build_graph(GraphSettings(source=urls[0], target=urls[1], out=out, search="partitioned"), where))
    assert same(*map(neighbours, found))
    assert found[0].manifest.measures == pytest.approx(found[1].manifest.measures, abs=1e-12)


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
    """Flink begins the job again, with new ones: those that were killed are kept for less time than it waits."""
    before = cluster.failures()
    with worker_pool() as pool:
        here = [f"job_endpoint={cluster.job_endpoint}", f"environment_config={pool.address}", "parallelism=2"]
        here.append("options.environment_cache_millis=3000")
        with fault_once(corpora / "lost-worker", pool.kill_workers):
            found = mine_corpora(whole_mine(corpora, "lost-worker"), load_runner(str(CONFIGS / "flink.yaml"), here))
    assert cluster.failures() > before
    assert pair_files(found) == expected


def test_documents_are_aligned_as_in_memory(cluster: FlinkCluster, encoder: Path, tmp_path: Path) -> None:
    chosen = settings(encoder, *two_folders(tmp_path))
    runner = FlinkSettings(job_endpoint=cluster.job_endpoint, environment="LOOPBACK", parallelism=2)
    assert summary(align_on_runner(chosen, str(tmp_path / "work"), runner)) == summary(align_documents(chosen))
