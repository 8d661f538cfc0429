"""What a partitioned graph is said to take, beside what one takes."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from pipelines.datasets.manifest import open_dataset
from pipelines.graph import partition
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.graph.partition import Found, KeySide
from pipelines.planning import kernel_rates
from pipelines.planning.counted_files import PROTOCOL, traffic
from pipelines.planning.kernel_rates import CellSpread, measure_kernels, read_sample
from pipelines.planning.partition_costs import PartitionCost, partition_cost, trained_rows
from pipelines.planning.plan_settings import PlanSettings
from pipelines.runners.runner import RunnerSettings
from tests.pipelines.graph.vector_datasets import write_side
from tests.pipelines.planning.test_plan import KERNELS

ROWS, SHARDS, DIM = 12_000, 4, 16
MEMORY = 24 << 20  # keys of an eighth of it: there are several


def test_files_and_bytes_are_those_that_a_search_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visits, keys, cells = [0], [0], [0]

    def search(given: list[KeySide], *others: Any, real: Any = partition.search_key) -> Found:
        visits[0] += sum(len(side.vectors) for side in given)
        cells[0] += sum(int((side.cells.cells >= 0).sum()) for side in given)
        keys[0] += 1
        return cast(Found, real(given, *others))

    monkeypatch.setattr(partition, "search_key", search)
    draw = np.random.default_rng(0)
    sides = [
        write_side(f"{PROTOCOL}://{tmp_path}/{name}", draw.standard_normal((ROWS, DIM), np.float32), SHARDS)
        for name in ("src", "tgt")
    ]
    before = traffic()
    made = build_graph(
        GraphSettings(
            source=sides[0],
            target=sides[1],
            out=f"{PROTOCOL}://{tmp_path}/graph",
            search="partitioned",
            copies=8,
            memory=MEMORY,
        ),
        RunnerSettings(processes=1),
    )
    counted = traffic() - before
    shards = sum((tmp_path / "graph" / shard.name).stat().st_size for shard in made.shards)
    share, filled = visits[0] / (2 * ROWS), cells[0] / (2 * ROWS * 8)
    same = KERNELS._replace(spreads=(CellSpread(50, share, 1.2, filled), CellSpread(94, share, 1.2, filled)))
    asked = PlanSettings(encoder="e", copies=8, memory=MEMORY)
    cost = partition_cost((ROWS, ROWS), 2 * SHARDS, DIM, same, asked)
    assert keys[0] > 3 and cost.keys == pytest.approx(keys[0], rel=0.1)
    assert cost.opens == pytest.approx(counted.opens, rel=0.05)
    assert cost.written == pytest.approx(counted.written - shards, rel=0.05)
    assert cost.read == pytest.approx(counted.read, rel=0.1)


def cost_of(rows: float, **changes: object) -> PartitionCost:
    asked = PlanSettings(encoder="e", **changes)  # type: ignore[arg-type]
    return partition_cost((rows, rows), 2 * -(-rows // 65_536), 256, KERNELS, asked)


def test_it_grows_as_the_rows() -> None:
    some, more = (cost_of(rows, memory="1024GiB") for rows in (1e8, 1e9))
    for name, off in {"seconds": 0.2, "shuffled": 0.15, "opens": 0.15, "written": 0.15}.items():  # another level
        assert getattr(more, name) / getattr(some, name) == pytest.approx(10, rel=off), name


def test_cells_are_no_more_than_the_vectors_that_they_begin_with() -> None:
    """A worker of 4 GiB trains on a million vectors: a billion rows a side would have 7.8 million cells."""
    asked = PlanSettings(encoder="e", memory="4GiB")
    assert trained_rows((1e9, 1e9), 256, asked) == 1 << 20
    few, many = (cost_of(1e9, memory=memory) for memory in ("4GiB", "64GiB"))
    inside = 1e9**2 * 64 / KERNELS.cells * (KERNELS.density(1 << 20) / (1 << 20))
    assert few.seconds > inside and many.seconds < few.seconds / 2


def test_more_than_one_process_holds_leaves_no_files_of_keys() -> None:
    alone, together = cost_of(1e7, memory="16GiB"), cost_of(1e7, memory="2GiB")
    assert alone.opens - alone.keys == pytest.approx(together.opens)
    assert alone.written > together.written and alone.memory > together.memory


def test_rows_go_to_ever_more_keys_and_never_to_more_than_their_copies() -> None:
    keys = [KERNELS.keys_of_row(cells, 8) for cells in (250, 1000, 10_000, 10**7)]
    assert keys[:2] == pytest.approx([2.5, 4.6]) and keys == sorted(keys) and keys[-1] < 8
    assert KERNELS.density(4000) == pytest.approx(1.4)


def test_kernels_are_measured_on_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_rates, "_EXACT_ROWS", 1000)
    monkeypatch.setattr(kernel_rates, "_CENTROIDS", (64, 4096))  # so far apart that noise does not hide it
    draw = np.random.default_rng(0)
    sides = [
        open_dataset(
            write_side(f"{PROTOCOL}://{tmp_path}/{name}", draw.standard_normal((600, DIM), np.float32), 2), "vectors"
        )
        for name in ("src", "tgt")
    ]
    before = traffic()
    sample = read_sample(sides)
    read = traffic() - before
    found = measure_kernels(sample, PlanSettings(encoder="e", copies=4))
    assert sample.dim == DIM and found.read == sample.read
    assert [np.linalg.norm(units, axis=1).round(5).tolist() for units in sample.units] == [[1.0] * 600] * 2
    assert read.opens > 0 and (traffic() - before) == read, "vectors are read once"
    assert min(found.exact, found.cells, found.truth, found.read, found.ordered, found.assigned.of_centroid) > 0
    few, many = found.spreads
    assert few.cells < many.cells and 1 <= many.keys <= 4 and 0.1 < many.density < 2 and 0.5 < many.filled <= 1
