"""Retrieval against LASER's procedure written out as loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mining.knn import knn_graph
from mining.margin import Margin
from mining.neighbours import KnnGraph, Neighbours
from mining.retrieval import BACKWARD, FORWARD, Retrieval, candidates, retrieve
from mining.vectors import from_array
from tests.mining.oracle import laser_pairs


def parallel_vectors(seed: int, rows: int, columns: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sides that share a common direction (positive neighbourhoods) and some noisy translations."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, dim)) + 0.7
    y = rng.standard_normal((columns, dim)) + 0.7
    shared = min(rows, columns) // 2
    y[:shared] = x[:shared] + 0.5 * rng.standard_normal((shared, dim))
    return x.astype(np.float32), y[rng.permutation(columns)].astype(np.float32)


@pytest.mark.parametrize("margin", list(Margin))
@pytest.mark.parametrize("retrieval", list(Retrieval))
@pytest.mark.parametrize(("rows", "columns", "k"), [(60, 80, 4), (5, 3, 4), (1, 1, 4), (40, 7, 1), (120, 90, 8)])
def test_equals_laser(margin: Margin, retrieval: Retrieval, rows: int, columns: int, k: int) -> None:
    x, y = parallel_vectors(rows, rows, columns, 12)
    found = retrieve(knn_graph(from_array(x), from_array(y), k), retrieval, margin)
    expected = laser_pairs(x, y, k, margin.value, retrieval.value)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == {edge[:2] for edge in expected}
    by_pair = {edge[:2]: edge[2] for edge in expected}
    scores = [by_pair[edge] for edge in zip(found.source.tolist(), found.target.tolist(), strict=True)]
    np.testing.assert_allclose(found.scores, scores, rtol=1e-5)
    assert (np.diff(found.scores) <= 0).all(), "best first"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_max_is_one_to_one_and_maximal(seed: int, rows: int, columns: int) -> None:
    x, y = parallel_vectors(seed, rows, columns, 5)
    graph = knn_graph(from_array(x), from_array(y), 3)
    pairs = retrieve(graph, Retrieval.max)
    assert len(set(pairs.source.tolist())) == len(set(pairs.target.tolist())) == len(pairs)
    used = set(pairs.source.tolist()), set(pairs.target.tolist())
    proposals = retrieve(graph, Retrieval.forward), retrieve(graph, Retrieval.backward)
    for edges in proposals:
        for i, j in zip(edges.source.tolist(), edges.target.tolist(), strict=True):
            assert i in used[0] or j in used[1], "an edge with two free ends was left"


def test_candidates_list_every_edge_once_with_its_directions() -> None:
    x, y = parallel_vectors(1, 30, 40, 8)
    graph = knn_graph(from_array(x), from_array(y), 3)
    found = candidates(graph)
    forward = {(i, int(j)) for i, row in enumerate(graph.forward.ids) for j in row}
    backward = {(int(i), j) for j, row in enumerate(graph.backward.ids) for i in row}
    edges = list(zip(found.source.tolist(), found.target.tolist(), strict=True))
    assert len(edges) == len(set(edges))
    assert set(edges) == forward | backward
    for edge, bits in zip(edges, found.directions.tolist(), strict=True):
        assert bits == FORWARD * (edge in forward) + BACKWARD * (edge in backward)


@pytest.mark.parametrize("retrieval", list(Retrieval))
def test_an_empty_graph_gives_no_pairs(retrieval: Retrieval) -> None:
    assert len(retrieve(KnnGraph(Neighbours.none(0, 4), Neighbours.none(3, 4)), retrieval)) == 0
