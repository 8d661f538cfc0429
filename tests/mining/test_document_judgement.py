"""Judging two documents by their alignment: strangers, other orders, parts and wholes."""

from __future__ import annotations

import pytest

from mining.alignment import Document, align_sentences
from mining.document_judgement import DocumentJudgement, judge_pair
from mining.document_order import order_agreement
from tests.mining.test_alignment import make_pair


def judged(source: Document, target: Document) -> DocumentJudgement:
    order = order_agreement(source.vectors, target.vectors)
    return judge_pair(align_sentences(source, target), source.lengths, target.lengths, order)


def part_of(document: Document, start: int, stop: int) -> Document:
    return Document(document.vectors[start:stop], document.lengths[start:stop])


def test_confidence_tells_translations_from_strangers_and_keeps_to_the_shorter() -> None:
    source, target, _ = make_pair([(1, 1)] * 40)
    stranger = make_pair([(1, 1)] * 40, seed=5)[1]
    half = type(target)(target.vectors[:20], target.lengths[:20])
    scores = [judged(source, other).confidence for other in (target, half, stranger)]
    assert scores[0] > 0.95
    assert scores[1] > 0.9
    assert scores[2] < 0.1


@pytest.mark.parametrize("sentences", [4, 5, 7, 10, 20])
def test_documents_in_another_order_are_no_translations(sentences: int) -> None:
    """Some of their beads join four sentences, which are all there."""
    for seed in range(6):
        source, target, _ = make_pair([(1, 1)] * sentences, seed=seed)
        other = Document(target.vectors[::-1], target.lengths[::-1])
        assert judged(source, other).confidence < 0.1


@pytest.mark.parametrize(
    ("sentences", "of", "likely"),
    [(1, 60, False), (1, 3, True), (3, 60, False), (5, 20, True), (10, 60, True), (40, 800, True)],
)
def test_a_few_sentences_are_no_translation_of_a_long_document(sentences: int, of: int, likely: bool) -> None:
    source, target, _ = make_pair([(1, 1)] * of, seed=1)
    for start in (0, of // 2, of - sentences):
        assert (judged(source, part_of(target, start, start + sentences)).confidence > 0.5) is likely


def test_the_whole_agrees_better_than_a_part() -> None:
    source, target, _ = make_pair([(1, 1)] * 30)
    for start, stop in ((0, 5), (10, 20), (0, 20)):
        part = judged(source, part_of(target, start, stop))
        assert judged(source, target).agreement > 1.05 * part.agreement > 0
