"""Whether documents are in the same order: made-up documents, backwards, shuffled, in part and repeated."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mining import alignment_path
from mining.alignment_path import unit_sums
from mining.document_order import order_agreement
from tests.mining.test_document_pairs import collections


def made_up(sentences: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    source, target = collections([sentences], seed=seed)
    return source.vectors, target.vectors


@pytest.mark.parametrize("sentences", [4, 10, 60, 100, 5000])
def test_counterparts_have_one_and_those_backwards_next_to_nothing(sentences: int) -> None:
    source, target = made_up(sentences)
    assert order_agreement(source, target) > 0.95
    assert order_agreement(source, target[::-1]) < 0.4
    if sentences >= 10:
        assert order_agreement(source, target[::-1]) < 0.1


@pytest.mark.parametrize("sentences", [20, 60, 1000])
def test_shuffled_documents_have_about_a_half(sentences: int) -> None:
    source, target = made_up(sentences)
    shuffled = target[np.random.default_rng(1).permutation(sentences)]
    assert 0.3 < order_agreement(source, shuffled) < 0.7


@pytest.mark.parametrize(("source", "target"), [(0, 0), (0, 5), (1, 1), (1, 40), (3, 5000)])
def test_where_there_is_no_order_nothing_is_said_against_it(source: int, target: int) -> None:
    rows, others = made_up(5000)
    assert order_agreement(rows[:source], others[:target]) == 1.0


def test_two_sentences_may_change_places() -> None:
    source, target = made_up(2)
    assert order_agreement(source, target[::-1]) == 0.75


def test_half_of_a_document_is_in_order() -> None:
    source, target = made_up(40)
    assert order_agreement(source, target[20:]) > 0.95


def test_repeated_sentences_are_in_order() -> None:
    source, target = made_up(12)
    again = [0, 1, 2, 0, 3, 4, 0, 5, 0, 6, 7, 8]
    assert order_agreement(source[again], target[again]) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_pairs_in_order_are_counted(seed: int) -> None:
    source, target = made_up(12, seed)
    target = target[np.random.default_rng(seed).permutation(12)]
    cosines = source @ target.T / np.linalg.norm(source, axis=1)[:, None] / np.linalg.norm(target, axis=1)
    mutual = [
        (i, j) for i in range(12) for j in range(12) if cosines[i, j] == max(cosines[i].max(), cosines[:, j].max())
    ]
    pairs = [(a[0] < b[0]) == (a[1] < b[1]) for a, b in combinations(mutual, 2)]
    assert np.isclose(order_agreement(source, target), (sum(pairs) + 3) / (len(pairs) + 3))


@pytest.mark.parametrize("size", [1, 2, 7, 50, 400])
def test_sums_are_made_in_blocks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = made_up(333)
    whole = unit_sums(vectors, size)
    monkeypatch.setattr(alignment_path, "_BLOCK", 100)
    np.testing.assert_array_equal(unit_sums(vectors, size), whole)
    assert len(whole) == -(-333 // size)
