"""Pairing documents: made-up collections with distractors, cuts, repeats and names."""

from __future__ import annotations

import numpy as np
import pytest

from mining import document_pairs
from mining.alignment import Document, align_sentences
from mining.document_order import order_agreement
from mining.document_pairs import (
    Collection,
    assign,
    bimax,
    match_documents,
    pair_confidence,
    voted_candidates,
    with_same_keys,
)
from mining.knn import knn_graph
from mining.retrieval import Retrieval, retrieve
from mining.vectors import from_array
from tests.mining.test_alignment import make_pair

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


def test_counterparts_are_found_among_strangers() -> None:
    source, target = collections([10, 14, 9, 20, 11, 8], extra=6)
    found = match_documents(source, target)
    best = list(zip(found.source[:6].tolist(), found.target[:6].tolist(), strict=True))
    assert sorted(best) == [(k, k) for k in range(6)]
    assert found.score[:6].min() > found.score[6:].max()
    assert len(set(found.source.tolist())) == len(found.source)


def test_a_document_cut_to_half_is_found() -> None:
    source, target = collections([16] * 8, extra=4)
    half = np.concatenate([np.arange(8), np.arange(16, len(target.vectors))])
    starts = np.concatenate([[0], target.starts[1:] - 8])
    cut = Collection(target.vectors[half], target.lengths[half], starts)
    found = match_documents(source, cut)
    assert (0, 0) in zip(found.source[:8].tolist(), found.target[:8].tolist(), strict=True)


def test_a_document_repeated_many_times_is_paired_once() -> None:
    source, target = collections([10, 12, 9])
    copies = np.tile(target.vectors[:10], (100, 1))
    vectors = np.concatenate([copies, target.vectors[10:]])
    starts = np.concatenate([np.arange(0, 1001, 10), [1012, 1021]])
    many = Collection(vectors, np.full(len(vectors), 50.0), starts)
    found = match_documents(source, many)
    partners = dict(zip(found.source.tolist(), found.target.tolist(), strict=True))
    assert partners[0] < 100
    assert partners[1] == 100
    assert partners[2] == 101


def test_names_that_differ_by_the_language_decide_between_equals() -> None:
    source, target = collections([10, 10])
    twins = Collection(np.tile(target.vectors[:10], (2, 1)), np.full(20, 50.0), np.array([0, 10, 20]))
    found = match_documents(source, twins, (["a/*", "b/*"], ["x/*", "a/*"]))
    assert dict(zip(found.source.tolist(), found.target.tolist(), strict=True))[0] == 1


def test_no_documents_and_empty_documents() -> None:
    source, _ = collections([5, 6])
    nothing = Collection(np.empty((0, DIM)), np.empty(0), np.array([0, 0]))
    found = match_documents(source, nothing)
    assert not len(found.source)
    assert found.best_of_source.tolist() == [-1, -1]


def test_confidence_tells_translations_from_strangers_and_keeps_to_the_shorter() -> None:
    source, target, _ = make_pair([(1, 1)] * 40)
    stranger = make_pair([(1, 1)] * 40, seed=5)[1]
    half = type(target)(target.vectors[:20], target.lengths[:20])
    scores = [
        pair_confidence(
            align_sentences(source, other),
            source.lengths,
            other.lengths,
            order_agreement(source.vectors, other.vectors),
        )
        for other in (target, half, stranger)
    ]
    assert scores[0] > 0.95
    assert scores[1] > 0.9
    assert scores[2] < 0.1


@pytest.mark.parametrize("sentences", [4, 5, 7, 10, 20])
def test_documents_in_another_order_are_no_translations(sentences: int) -> None:
    """Some of their beads join four sentences, which are all there."""
    for seed in range(6):
        source, target, _ = make_pair([(1, 1)] * sentences, seed=seed)
        other = Document(target.vectors[::-1], target.lengths[::-1])
        order = order_agreement(source.vectors, other.vectors)
        assert pair_confidence(align_sentences(source, other), source.lengths, other.lengths, order) < 0.1


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
    found = assign(pairs, cosines, source.documents, target.documents)
    assert {(k, k) for k in range(6)} <= set(zip(found.source.tolist(), found.target.tolist(), strict=True))
