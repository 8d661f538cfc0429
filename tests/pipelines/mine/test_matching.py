"""Greedy matching in rounds is greedy matching, ties included."""

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that
from hypothesis import given
from hypothesis import strategies as st

from pipelines.mine.edges import EDGE, best_first
from pipelines.mine.match_rounds import TAKEN, Match, _mark, _remove, _take, split, split_taken
from pipelines.mine.matching import greedy, is_best_at

# Few ids and fewer scores, so that ties and chains abound.
EDGES = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


def edges_of(pairs: set[tuple[int, int]], scores: list[int]) -> np.ndarray:
    edges = np.zeros(len(pairs), EDGE)
    for row, ((source, target), score) in enumerate(zip(sorted(pairs), scores, strict=False)):
        edges[row] = (source, target, score / 4, 0.5, 1)
    return edges


def simple_greedy(edges: np.ndarray) -> list[tuple[int, int]]:
    sources: set[int] = set()
    targets: set[int] = set()
    taken = []
    for edge in sorted(edges.tolist(), key=lambda edge: (-edge[2], edge[0], edge[1])):
        if edge[0] not in sources and edge[1] not in targets:
            sources.add(edge[0])
            targets.add(edge[1])
            taken.append((edge[0], edge[1]))
    return taken


def one_round(edges: np.ndarray, size: int) -> tuple[list[np.ndarray], np.ndarray]:
    """`Round` without Beam: the same functions, grouped by hand."""

    def grouped(items):
        groups: dict[int, list] = {}
        for key, value in items:
            groups.setdefault(key, []).append(value)
        return groups.items()

    marked = [item for group in grouped(split(edges, "source", size)) for item in _mark(group, size)]
    outputs = [output for key, parts in grouped(marked) for output in _take(key, parts)]
    taken = [output.value for output in outputs if isinstance(output, beam.pvalue.TaggedOutput)]
    rest = [item for output in outputs if isinstance(output, np.ndarray) for item in split(output, "source", size)]
    gone = [item for part in taken for item in split_taken(part, size)]
    left = [part for key, parts in grouped([*rest, *gone]) for part in _remove(key, parts)]
    return taken, np.concatenate([np.zeros(0, EDGE), *left])


@given(pairs=EDGES, scores=st.lists(st.integers(0, 3), min_size=60, max_size=60), size=st.integers(1, 14))
def test_rounds_end_in_the_greedy_matching(pairs: set[tuple[int, int]], scores: list[int], size: int) -> None:
    edges = edges_of(pairs, scores)
    expected = simple_greedy(edges)
    assert [(edge["source"], edge["target"]) for edge in greedy(edges)] == expected
    taken, rest = [np.zeros(0, EDGE)], edges
    while len(rest):
        before = len(rest)
        found, rest = one_round(rest, size)
        taken += found
        assert len(rest) < before
    together = best_first(np.concatenate(taken))
    assert [(edge["source"], edge["target"]) for edge in together] == expected


@given(pairs=EDGES, scores=st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_the_best_edge_of_each_end_is_marked(pairs: set[tuple[int, int]], scores: list[int]) -> None:
    edges = edges_of(pairs, scores)
    for end in ("source", "target"):
        best = {}
        for edge in best_first(edges):
            best.setdefault(edge[end], tuple(edge))
        assert {edge[end]: tuple(edge) for edge in edges[is_best_at(edges, end)]} == best


@pytest.mark.parametrize(("one_worker_edges", "rounds"), [(0, 2), (10**6, 1)])
def test_transform_gives_the_greedy_matching(one_worker_edges: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    pairs = set(zip(rng.integers(0, 50, 300).tolist(), rng.integers(0, 40, 300).tolist(), strict=True))
    edges = edges_of(pairs, rng.integers(0, 20, len(pairs)).tolist())
    expected = simple_greedy(edges)

    def check(parts: list[np.ndarray]) -> None:
        found = best_first(np.concatenate(parts))
        assert [(edge["source"], edge["target"]) for edge in found] == expected

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        batches = pipeline | beam.Create(np.array_split(edges, 7))
        assert_that(batches | Match(one_worker_edges, ids_per_worker=9, rounds=rounds), check)


def test_outputs_have_their_names() -> None:
    edges = edges_of({(0, 0)}, [1])
    (output,) = _take(0, [(edges, np.array([True]))])
    assert output.tag == TAKEN
