import re
import sys
import tracemalloc
from types import SimpleNamespace
from typing import Any, ClassVar

import faiss
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mining.approximate import IndexPlan, approximate_graph, build_index, import_faiss, plan_index
from mining.errors import InputError
from mining.knn import knn_graph
from mining.top_k import MISSING
from mining.vectors import from_array
from tests.mining.oracle import excluding


def vectors(rows: int, dim: int = 32) -> np.ndarray:
    rng = np.random.default_rng(rows)
    centres = rng.standard_normal((50, dim))
    return (centres[rng.integers(0, 50, rows)] + 0.4 * rng.standard_normal((rows, dim))).astype(np.float32)


def overlap(found: np.ndarray, truth: np.ndarray) -> float:
    return float((truth[:, :, None] == found[:, None, :]).any(2).mean())


@pytest.mark.parametrize(("memory", "kind"), [(1 << 30, "Flat"), (28 << 20, "PQ")])
def test_recall_is_measured_and_scores_are_exact(memory: int, kind: str) -> None:
    x, y = from_array(vectors(1000)), from_array(vectors(14_000))
    result = approximate_graph(x, y, 4, memory=memory, threads=1)
    exact = knn_graph(x, y, 4)
    assert kind in result.forward.index_kind
    for found, truth, recall in (
        (result.graph.forward, exact.forward, result.forward.recall),
        (result.graph.backward, exact.backward, result.backward.recall),
    ):
        assert recall > 0.9
        assert overlap(found.ids, truth.ids) == pytest.approx(recall, abs=0.03), "the estimate is honest"
        same = found.ids == truth.ids
        np.testing.assert_array_equal(found.scores[same], truth.scores[same])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 2), (0, 4), (50, 3)])
def test_small_sides(rows: int, columns: int) -> None:
    x, y = from_array(vectors(rows)), from_array(vectors(columns))
    result = approximate_graph(x, y, 4, threads=1)
    exact = knn_graph(x, y, 4)
    np.testing.assert_array_equal(result.graph.forward.ids, exact.forward.ids)
    np.testing.assert_array_equal(result.graph.backward.ids, exact.backward.ids)


def test_excluded_rows_take_no_part() -> None:
    x, y = from_array(vectors(200)), excluding(from_array(vectors(300)), np.arange(0, 300, 2))
    graph = approximate_graph(excluding(x, np.array([5])), y, 4).graph
    assert (graph.forward.ids[5] == MISSING).all()
    assert (np.delete(graph.forward.ids, 5, 0) % 2 == 1).all()


@pytest.mark.parametrize(
    ("rows", "dim", "memory", "expected"),
    [
        (10_000, 64, 1 << 30, "IVF256,Flat"),
        (10_000_000, 1024, 4 << 30, "IVF9440,PQ64"),
        (100_000_000, 1024, 32 << 30, "IVF40000,PQ64"),
        (100_000_000, 1024, 20 << 30, "IVF28286,PQ16"),
        (20, 64, 1 << 30, "IVF1,Flat"),
    ],
)
def test_the_index_follows_size_and_memory(rows: int, dim: int, memory: int, expected: str) -> None:
    assert plan_index(rows, rows, dim, 4, memory).kind.startswith(expected)


@example(queries=1, rows=30242, dim=1024, k=1, memory=275816276)  # half for the index left too little for a batch
@given(
    st.integers(1, 10**9),
    st.integers(1, 10**9),
    st.sampled_from([8, 50, 64, 768, 1024]),
    st.integers(1, 32),
    st.integers(1 << 20, 1 << 40),
)
def test_the_plan_fits_the_memory_or_says_what_it_needs(queries: int, rows: int, dim: int, k: int, memory: int) -> None:
    held = (queries + rows) * 12 * k
    try:
        plan = plan_index(queries, rows, dim, k, memory)
    except InputError as error:
        needed = int(re.search(r"it needs ([\d,]+) MB", str(error))[1].replace(",", ""))
        assert needed * 1e6 > memory - 1e6
        plan_index(queries, rows, dim, k, int((needed + 1) * 1e6))
        return
    lists, _, encoding = plan.kind.removeprefix("IVF").partition(",")
    width = 4 * dim if encoding == "Flat" else int(encoding.removeprefix("PQ"))
    assert held + 2 * rows * width + plan.search_bytes <= memory
    assert held + 4 * dim * (plan.training_rows + int(lists)) + plan.search_bytes <= memory
    assert plan.training_rows >= min(rows, 39 * int(lists), 1024)
    batch = plan.batch(dim, 32, int(lists), half=True)
    assert batch == 1 or batch * (12 * dim + 12 * int(lists) + 6 * 32 * dim) <= plan.search_bytes


def test_the_budget_is_honoured_by_every_array() -> None:
    x, y = from_array(vectors(300, 128)), from_array(vectors(40_000, 128))
    memory = 40 << 20  # the vectors of the larger side take 20 MB
    approximate_graph(x.rows(0, 10), y.rows(0, 5000), 4, memory=memory, threads=1)  # imports and compiles
    tracemalloc.start()
    approximate_graph(x, y, 4, memory=memory, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < memory - (10 << 20)  # the index, which FAISS allocates by itself


class OnGpus:
    """What stands for the copies of an index on two GPUs: it has no attributes of its own to set."""

    made: ClassVar[list[str]] = []

    def __init__(self, index: Any, options: Any) -> None:
        self.index = index
        self.made.append(f"{type(index).__name__} {options.useFloat16}")
        self.train, self.add, self.search = index.train, index.add, index.search


class GpuEfforts:
    def set_index_parameter(self, copies: OnGpus, name: str, value: float) -> None:
        faiss.ParameterSpace().set_index_parameter(copies.index, name, value)


def test_one_index_a_side_on_all_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = from_array(vectors(500)), from_array(vectors(4000))
    expected = approximate_graph(x, y, 4, threads=1).graph
    with pytest.raises(InputError, match=r"--device cuda: FAISS sees no GPU here"):
        approximate_graph(x, y, 4, device="cuda")
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)
    monkeypatch.setattr(faiss, "index_cpu_to_all_gpus", OnGpus, raising=False)
    monkeypatch.setattr(faiss, "GpuParameterSpace", GpuEfforts, raising=False)
    monkeypatch.setattr(faiss, "GpuMultipleClonerOptions", SimpleNamespace, raising=False)
    for device, made in (("auto", ["IndexIVFFlat False"] * 2), ("cpu", [])):
        OnGpus.made.clear()
        found = approximate_graph(x, y, 4, device=device, threads=1).graph
        assert OnGpus.made == made
        np.testing.assert_array_equal(found.forward.ids, expected.forward.ids)
        np.testing.assert_array_equal(found.backward.ids, expected.backward.ids)
    build_index(faiss, y, np.arange(4000), IndexPlan("IVF4,PQ8", 4, 1000, 1 << 20), 0, on_gpu=True)
    assert OnGpus.made == ["IndexIVFPQ True"]


def test_without_faiss_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"pip install 'twinlode\[cpu\]'"):
        import_faiss()
