import sys

import numpy as np
import pytest

from mining.approximate import approximate_graph, import_faiss, index_kind
from mining.errors import InputError
from mining.knn import knn_graph
from mining.selection import MISSING
from mining.vectors import from_array


def vectors(rows: int, dim: int = 32) -> np.ndarray:
    rng = np.random.default_rng(rows)
    centres = rng.standard_normal((50, dim))
    return (centres[rng.integers(0, 50, rows)] + 0.4 * rng.standard_normal((rows, dim))).astype(np.float32)


def overlap(found: np.ndarray, truth: np.ndarray) -> float:
    return float((truth[:, :, None] == found[:, None, :]).any(2).mean())


@pytest.mark.parametrize(("memory", "kind"), [(1 << 30, "IVF58,Flat"), (250_000, "PQ")])
def test_recall_is_measured_and_scores_are_exact(memory: int, kind: str) -> None:
    x, y = from_array(vectors(1000)), from_array(vectors(2300))
    result = approximate_graph(x, y, 4, memory=memory, threads=1)
    exact = knn_graph(x, y, 4)
    assert kind in result.index_kind
    for found, truth, recall in (
        (result.graph.forward, exact.forward, result.forward_recall),
        (result.graph.backward, exact.backward, result.backward_recall),
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
    x, y = from_array(vectors(200)), from_array(vectors(300)).excluding(np.arange(0, 300, 2))
    graph = approximate_graph(x.excluding(np.array([5])), y, 4).graph
    assert (graph.forward.ids[5] == MISSING).all()
    assert (np.delete(graph.forward.ids, 5, 0) % 2 == 1).all()


@pytest.mark.parametrize(
    ("rows", "dim", "memory", "expected"),
    [
        (10_000, 64, 1 << 30, "IVF256,Flat"),
        (10_000_000, 1024, 4 << 30, "IVF12649,PQ64"),
        (100_000_000, 1024, 4 << 30, "IVF40000,PQ8"),
        (20, 64, 1 << 30, "IVF1,Flat"),
    ],
)
def test_the_index_follows_size_and_memory(rows: int, dim: int, memory: int, expected: str) -> None:
    assert index_kind(rows, dim, memory) == expected


def test_without_faiss_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"pip install 'twinlode\[cpu\]'"):
        import_faiss()
