"""Pairing documents: made-up collections with distractors, cuts, repeats and names."""

from __future__ import annotations

import numpy as np
import pytest

from mining import document_pairs
from mining.document_pairs import (
    TRIED,
    Collection,
    Trials,
    bimax,
    find_trials,
    take_best,
    trials,
    voted_candidates,
    with_same_keys,
)
from mining.knn import knn_graph
from mining.retrieval import Retrieval, retrieve
from mining.vectors import from_array

DIM = 32


def collections(sizes: list[int], extra: int = 0, seed: int = 0, noise: float = 0.6) -> tuple[Collection, Collection]:
    """Document k of both sides says the same; the last `extra` of each have no counterpart."""
    rng = np.random.default_rng(seed)
    shared = [rng.normal(size=(size, DIM)) for size in sizes]
    sides = []
    for _ in range(2):
        documents = [x + noise * rng.normal(size=x.shape) for x in shared]
        documents += [rng.normal(size=(12, DIM)) for _ in range(extra)]
        starts = np.concatenate([[0], np.cumsum([len(x) for x in documents])])
        rows = np.concatenate(documents).astype(np.float32)
        sides.append(Collection(rows, np.full(len(rows), 50.0), starts))
    return sides[0], sides[1]


def best_pairs(found: Trials) -> list[tuple[int, int]]:
    """One to one, in order."""
    kept = take_best(found.source, found.target)
    return list(zip(found.source[kept].tolist(), found.target[kept].tolist(), strict=True))


def test_counterparts_are_found_among_strangers() -> None:
    found = find_trials(*collections([10, 14, 9, 20, 11, 8], extra=6))
    assert sorted(best_pairs(found)[:6]) == [(k, k) for k in range(6)]
    assert max(np.bincount(side).max() for side in (found.source, found.target)) <= TRIED
    assert all(nearest[:6].tolist() == list(range(6)) for nearest in found.nearest)


def test_a_document_cut_to_half_is_found() -> None:
    source, target = collections([16] * 8, extra=4)
    half = np.concatenate([np.arange(8), np.arange(16, len(target.vectors))])
    starts = np.concatenate([[0], target.starts[1:] - 8])
    cut = Collection(target.vectors[half], target.lengths[half], starts)
    assert (0, 0) in best_pairs(find_trials(source, cut))[:8]


def test_a_document_repeated_many_times_is_tried_a_few_times() -> None:
    source, target = collections([10, 12, 9])
    copies = np.tile(target.vectors[:10], (100, 1))
    vectors = np.concatenate([copies, target.vectors[10:]])
    starts = np.concatenate([np.arange(0, 1001, 10), [1012, 1021]])
    many = Collection(vectors, np.full(len(vectors), 50.0), starts)
    found = find_trials(source, many)
    partners = dict(best_pairs(found))
    assert partners[0] < 100
    assert partners[1] == 100
    assert partners[2] == 101
    assert (found.source == 0).sum() == TRIED


def test_a_whole_document_comes_before_its_parts() -> None:
    """As 60 lines against the same in one document, and once more as 60 documents."""
    source, target = collections([60], noise=0.3)
    vectors = np.concatenate([target.vectors, target.vectors])
    parts = Collection(vectors, np.full(120, 50.0), np.concatenate([[0], np.arange(60, 121)]))
    assert best_pairs(find_trials(source, parts)) == [(0, 0)]


def test_names_that_differ_by_the_language_decide_between_equals() -> None:
    source, target = collections([10, 10])
    twins = Collection(np.tile(target.vectors[:10], (2, 1)), np.full(20, 50.0), np.array([0, 10, 20]))
    found = find_trials(source, twins, (["a/*", "b/*"], ["x/*", "a/*"]))
    assert best_pairs(found)[0] == (0, 1)
    assert found.score[0] == pytest.approx(1.1 * found.score[1])


def test_no_documents_and_empty_documents() -> None:
    source, _ = collections([5, 6])
    nothing = Collection(np.empty((0, DIM)), np.empty(0), np.array([0, 0]))
    found = find_trials(source, nothing)
    assert not len(found.source)
    assert found.nearest[0].tolist() == [-1, -1]


def test_nothing_is_in_more_pairs_than_allowed() -> None:
    rows, columns = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 0])
    assert take_best(rows, columns).tolist() == [0, 4]
    assert take_best(rows, columns, 2).tolist() == [0, 1, 3, 4]


def test_bimax_of_long_documents_is_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = (side.part(0) for side in collections([50]))
    cosines = (source.vectors @ target.vectors.T) * source.scale[:, None] * target.scale
    whole = (cosines.max(1).mean() + cosines.max(0).mean()) / 2  # both are of one length, and all weights the same
    monkeypatch.setattr(document_pairs, "_CELLS", 7 * 50)
    assert np.isclose(bimax(source, target), whole)


def test_candidates_by_votes_of_sentences() -> None:
    source = np.array([0, 0, 0, 1, 1, 2, 2])
    target = np.array([5, 5, 6, 6, 7, 7, 5])
    margins = np.array([1.5, 1.2, 1.9, 1.4, 0.9, 1.1, 1.05])
    every = {(0, 5), (0, 6), (1, 6), (2, 7), (2, 5)}  # a margin below 1 is no vote
    assert set(map(tuple, voted_candidates(source, target, margins, 4).tolist())) == every
    # The best of each document, seen from either side.
    assert set(map(tuple, voted_candidates(source, target, margins, 1).tolist())) == {(0, 5), (0, 6), (1, 6), (2, 7)}


def test_votes_and_mean_vectors_pair_the_same_documents() -> None:
    source, target = collections([10, 14, 9, 20, 11, 8], extra=6)
    owners = [np.repeat(np.arange(side.documents), np.diff(side.starts)) for side in (source, target)]
    graph = knn_graph(from_array(source.vectors, "source"), from_array(target.vectors, "target"), 4)
    edges = retrieve(graph, Retrieval.intersect)
    voted = voted_candidates(owners[0][edges.source], owners[1][edges.target], edges.scores)
    pairs = with_same_keys(voted, None)
    cosines = np.array([bimax(source.part(a), target.part(b)) for a, b in zip(*pairs[:2], strict=True)])
    found = trials(pairs, cosines, source.documents, target.documents)
    assert {(k, k) for k in range(6)} <= set(best_pairs(found))
