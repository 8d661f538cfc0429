"""Greedy matching in bands of scores is greedy matching, ties and hubs included."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mining.retrieval import Retrieval
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import EDGE, GraphShard, Sides, best_first
from pipelines.mine.score_bands import Bands, coarse, joined_marks, match_bands, matched_edges, sort_band
from pipelines.planning.counted_files import PROTOCOL, traffic

# Few ids and fewer scores, so that ties and chains abound.
EDGES = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)
SIDES = Sides([GraphShard("forward", 0, "", "", 0, 13)], [GraphShard("backward", 0, "", "", 0, 13)])


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


def finer_bands(parts: list[np.ndarray], most: int) -> Bands:
    bands = Bands.cut(ScoreCounts.united([ScoreCounts.of(coarse(part["score"])) for part in parts]), most)
    return bands.cut_finer(joined_marks([bands.marks(part, most, len(parts)) for part in parts]), most)


def matched(folder: Path, edges: np.ndarray, most: int, shards: int = 3) -> np.ndarray:
    """Through bands of at most so many edges, which come from several shards."""
    work = begin(str(folder), Request(kind="pairs", configuration={}, inputs=[]))
    assert isinstance(work, Work)
    parts = np.array_split(edges, shards)
    bands = finer_bands(parts, most)
    groups: dict[int, list[np.ndarray]] = {}
    for part in parts:
        for number, some in bands.split(part):
            groups.setdefault(number, []).append(some)
    sorted_bands = [sort_band(work, *group, Retrieval.max) for group in groups.items()]
    rows = match_bands(work, reversed(sorted_bands), SIDES, Retrieval.max).rows
    found = [matched_edges(work, number) for number in range(len(rows))]
    assert [len(part) for part in found] == rows
    work.abandon()
    return np.concatenate([np.zeros(0, EDGE), *found])


@settings(max_examples=30)
@given(pairs=EDGES, scores=st.lists(st.integers(0, 3), min_size=60, max_size=60), most=st.integers(1, 70))
def test_bands_end_in_the_greedy_matching(
    tmp_path_factory: pytest.TempPathFactory, pairs: set[tuple[int, int]], scores: list[int], most: int
) -> None:
    edges = edges_of(pairs, scores)
    found = matched(tmp_path_factory.mktemp("bands"), edges, most)
    assert found[["source", "target"]].tolist() == simple_greedy(edges)
    np.testing.assert_array_equal(found, best_first(found))


@pytest.mark.parametrize("retrieval", [Retrieval.forward, Retrieval.backward, Retrieval.intersect])
def test_only_greedy_matching_reads_the_bands_again(tmp_path: Path, retrieval: Retrieval) -> None:
    work = Work(str(tmp_path), Request(kind="pairs", configuration={}, inputs=[]))
    edges = edges_of({(0, 1), (0, 2), (1, 2)}, [3, 2, 1])
    edges["directions"] = 3
    bands = [sort_band(work, number, [edges[number : number + 1]], retrieval) for number in (2, 0, 1)]
    for number, edge in enumerate(edges.tolist()):
        assert matched_edges(work, number).tolist() == [edge]
    before = traffic()
    counted = Work(f"{PROTOCOL}://{tmp_path}", work.request)
    assert match_bands(counted, bands, SIDES, retrieval).rows == [1, 1, 1]
    assert (traffic() - before).opens == 2, "it looks for the note and writes it"


@given(st.lists(st.floats(-2, 2, width=32), max_size=80), st.integers(1, 20))
def test_no_score_of_a_band_is_below_one_of_the_next(scores: list[float], most: int) -> None:
    edges = np.zeros(len(scores), EDGE)
    edges["score"] = scores
    bands = Bands.cut(ScoreCounts.of(coarse(edges["score"])), most)
    parts = [part["score"] for _, part in bands.split(edges)]
    assert sum(map(len, parts)) == len(scores)
    for better, worse in pairwise(parts):
        assert better.min() >= worse.max()
    for part in parts:
        assert len(part) <= most or len(np.unique(coarse(part))) == 1


@settings(max_examples=60)
@given(
    ends=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2)), max_size=300),
    most=st.integers(1, 60),
    shards=st.integers(1, 4),
)
def test_no_band_is_larger_than_it_may_be(ends: list[tuple[int, int, int]], most: int, shards: int) -> None:
    """Whatever the ties: bands are cut between edges, in their order, and no number is left out."""
    edges = np.zeros(len(set(ends)), EDGE)
    for row, (source, target, score) in enumerate(set(ends)):
        edges[row] = (source, target, (1.0, 1.0 + 2**-20, 1.5)[score], 0.5, 1)
    parts = np.array_split(edges, shards)
    bands, found = finer_bands(parts, most), {}
    for part in parts:
        for number, some in bands.split(part):
            found.setdefault(number, []).append(some)
    whole = [best_first(np.concatenate(found[number])) for number in sorted(found)]
    assert sorted(found) == list(range(len(found)))
    assert all(len(band) <= most for band in whole)
    np.testing.assert_array_equal(np.concatenate([edges[:0], *whole]), best_first(edges))


def test_an_edge_that_both_ends_propose_is_in_one_band() -> None:
    edges = np.zeros(400, EDGE)
    edges["source"] = edges["target"] = np.arange(400) // 2
    edges["score"], edges["directions"] = 1.0, 1 + np.arange(400) % 2
    parts = [edges[::2], edges[1::2]]
    bands = finer_bands(parts, 10)
    numbers = [np.repeat([number for number, _ in split], [len(some) for _, some in split])
               for split in (list(bands.split(part)) for part in parts)]  # fmt: skip
    np.testing.assert_array_equal(*numbers)
    assert np.bincount(np.concatenate(numbers)).max() <= 11


def test_a_hub_of_equal_scores_is_spread_over_bands() -> None:
    """A hundred thousand copies of a target, all of which choose one source, and a source that is tied with others."""
    edges = np.zeros(100_000, EDGE)
    edges["target"] = np.random.default_rng(0).permutation(100_000)
    edges["source"][::4] = 5
    edges["score"] = 1.25
    parts = np.array_split(edges, 7)
    bands = finer_bands(parts, 1000)
    sizes = np.zeros(400, np.int64)
    for part in parts:
        for number, some in bands.split(part):
            sizes[number] += len(some)
    assert sizes.max() <= 1000 and 100 < (sizes > 0).sum() < 250


def test_a_hub_is_spread_over_bands(tmp_path: Path) -> None:
    """Thousands of edges to one source, of which only one can be taken."""
    edges = np.zeros(5000, EDGE)
    edges["target"] = np.arange(5000)
    edges["score"] = np.random.default_rng(0).uniform(0.8, 1.6, 5000)
    sizes = [len(part) for _, part in Bands.cut(ScoreCounts.of(coarse(edges["score"])), 100).split(edges)]
    assert max(sizes) <= 100 and len(sizes) > 40
