import sys
from pathlib import Path

import numpy as np
import pytest

from mining import approximate, knn
from mining.approximate import approximate_graph, import_faiss, index_kind
from mining.errors import InputError
from mining.knn import Checkpoint, knn_graph
from mining.top_k import MISSING
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


@pytest.mark.parametrize("killed_at", [2, 5])  # in the forward direction, and in the backward one
def test_a_killed_search_continues(killed_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(approximate, "_BATCH", 300)
    x, y = from_array(vectors(1000)), from_array(vectors(700))
    whole = approximate_graph(x, y, 4, threads=1)
    batches: list[float] = []

    def report(work: float) -> None:
        batches.append(work)
        if len(batches) == killed_at:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "state.npz", x, y, 4, "approximate")
    with pytest.raises(KeyboardInterrupt):
        approximate_graph(x, y, 4, threads=1, report=report, checkpoint=checkpoint)
    again = approximate_graph(x, y, 4, threads=1, report=report, checkpoint=checkpoint)
    assert len(batches) == killed_at + 7 - (killed_at - 1), "four batches and three, none twice but the one killed in"
    assert again.forward == whole.forward
    assert again.backward == whole.backward
    for found, expected in zip(again.graph, whole.graph, strict=True):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)


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
