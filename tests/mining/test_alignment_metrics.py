"""Strict and lax scores of beads, against counts made by hand."""

from __future__ import annotations

import pytest

from mining.alignment_metrics import score_alignments

GOLD = [((0,), (0,)), ((1, 2), (1,)), ((3,), ()), ((4,), (2, 3))]


def test_the_gold_itself_is_perfect() -> None:
    scores = score_alignments([(GOLD, GOLD)])
    assert scores.strict == scores.lax == (1.0, 1.0, 1.0)


def test_partial_overlap_is_lax_only_and_deletions_count_in_precision_alone() -> None:
    found = [((0,), (0,)), ((1,), (1,)), ((2,), ()), ((3, 4), (2, 3))]
    scores = score_alignments([(GOLD, found)])
    # Strict: the first bead only. Lax: three of the four found (not the deletion), all three of the gold.
    assert scores.strict[:2] == pytest.approx((1 / 4, 1 / 3))
    assert scores.lax[:2] == pytest.approx((3 / 4, 1))
    assert scores.lax.f1 == pytest.approx(6 / 7)


def test_overlap_on_both_sides_with_different_gold_beads_is_wrong() -> None:
    scores = score_alignments([([((0,), (0,)), ((1,), (1,))], [((0,), (1,)), ((1,), (0,))])])
    assert scores.lax.f1 == 0


def test_documents_are_counted_together() -> None:
    scores = score_alignments([(GOLD, GOLD), (GOLD, [])])
    assert scores.strict.precision == 1
    assert scores.strict.recall == 0.5
    assert score_alignments([]).strict.f1 == 0
