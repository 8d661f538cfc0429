"""Precision, recall and F1 of beads, strict and lax, by the rules of Bleualign's and Vecalign's evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mining.alignment_formats import Bead


class BeadScores(NamedTuple):
    """Precision counts every bead found, deletions too; recall those of the gold that have two sides."""

    precision: float
    recall: float
    f1: float


class AlignmentScores(NamedTuple):
    strict: BeadScores  # the very same sentences on both sides
    lax: BeadScores  # some sentence of one gold bead on both sides


def score_alignments(documents: Iterable[tuple[Iterable[Bead], Iterable[Bead]]]) -> AlignmentScores:
    """Scores of all (gold, found) documents together."""
    found_counts, gold_counts = [0, 0, 0], [0, 0, 0]
    for gold, found in documents:
        gold_set, found_set = ({bead for bead in beads if bead[0] or bead[1]} for beads in (gold, found))
        _count(found_set, gold_set, found_counts)
        _count(_two_sided(gold_set), _two_sided(found_set), gold_counts)
    return AlignmentScores(*(_scores(found_counts, gold_counts, kind) for kind in (0, 1)))


def _two_sided(beads: set[Bead]) -> set[Bead]:
    return {bead for bead in beads if bead[0] and bead[1]}


def _count(beads: set[Bead], reference: set[Bead], counts: list[int]) -> None:
    """Adds to `counts`: strict matches, lax matches, beads."""
    links = {(i, j) for source, target in reference for i in source for j in target}
    for source, target in beads:
        strict = (source, target) in reference
        counts[0] += strict
        counts[1] += strict or any((i, j) in links for i in source for j in target)
        counts[2] += 1


def _scores(found: list[int], gold: list[int], kind: int) -> BeadScores:
    precision, recall = (counts[kind] / counts[2] if counts[2] else 0.0 for counts in (found, gold))
    return BeadScores(precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0)
