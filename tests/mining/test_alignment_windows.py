"""Alignment in windows: the same beads as at once, in parts of bounded size."""

from __future__ import annotations

import numpy as np
import pytest

from mining import alignment_windows
from mining.alignment import Alignment, Document, align_sentences
from mining.alignment_windows import LongDocument, align_long
from tests.mining.test_alignment import DIM, make_pair

WINDOW = 2000


def long_document(document: Document, asked: list[int]) -> LongDocument:
    def part(start: int, stop: int) -> Document:
        asked.append(stop - start)
        return Document(document.vectors[start:stop], document.lengths[start:stop])

    return LongDocument(document.vectors, part)


def in_windows(source: Document, target: Document, threads: int = 1) -> tuple[Alignment, list[int]]:
    asked: list[int] = []
    sides = long_document(source, asked), long_document(target, asked)
    return align_long(*sides, window=WINDOW, threads=threads), asked


def holds_all(found: Alignment, source: Document, target: Document) -> bool:
    """Every sentence of both sides is in one bead, in order."""
    edges = found.beads.reshape(-1, 2, 2)
    follow = (edges[1:, :, 0] == edges[:-1, :, 1]).all() and not edges[0, :, 0].any()
    return bool(follow and edges[-1, :, 1].tolist() == [source.sentences, target.sentences])


@pytest.fixture(autouse=True)
def small_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment_windows, "_UNIT", 16)
    monkeypatch.setattr(alignment_windows, "_OVERLAP", 512)


def test_windows_find_what_the_whole_finds() -> None:
    kinds = [(1, 1), (1, 2), (2, 1), (1, 0), (0, 1), (1, 1)]
    drawn = np.random.default_rng(0).choice(len(kinds), 5000, p=[0.6, 0.1, 0.1, 0.05, 0.05, 0.1])
    source, target, _ = make_pair([kinds[k] for k in drawn])
    found, asked = in_windows(source, target)
    whole = align_sentences(source, target)
    assert holds_all(found, source, target)
    assert max(asked) <= WINDOW + 2 * 512 + 32
    assert len(asked) >= 2 * 5
    same = set(map(tuple, found.beads.tolist())) & set(map(tuple, whole.beads.tolist()))
    assert len(same) > 0.995 * len(whole.beads)
    by_two, _ = in_windows(source, target, threads=2)
    assert all(np.array_equal(ours, theirs, equal_nan=True) for ours, theirs in zip(by_two, found, strict=True))


def test_a_long_passage_of_one_side_only_is_cut_too() -> None:
    source, target, gold = make_pair([(1, 1)] * 1000 + [(0, 1)] * 3000 + [(1, 1)] * 1000)
    found, asked = in_windows(source, target)
    assert holds_all(found, source, target)
    assert max(asked) <= WINDOW + 2 * 512 + 32
    two = set(map(tuple, found.beads[found.two_sided].tolist()))
    wanted = {
        (i, i + 1, j, j + 1) for i, j in [(k, k) for k in range(1000)] + [(k, k + 3000) for k in range(1000, 2000)]
    }
    assert len(two & wanted) > 0.97 * len(gold[:1000] + gold[4000:])


def test_strangers_are_aligned_to_their_ends() -> None:
    rng = np.random.default_rng(1)
    sides = [Document(rng.normal(size=(rows, DIM)).astype(np.float32), np.full(rows, 50.0)) for rows in (3000, 1500)]
    found, _ = in_windows(*sides)
    assert holds_all(found, *sides)


def test_parts_that_never_meet_leave_what_is_between_without_counterpart() -> None:
    left = Alignment(np.array([[0, 2, 0, 1], [2, 4, 1, 3]]), np.zeros(2), np.ones(2))
    right = Alignment(np.array([[1, 3, 0, 2], [3, 5, 2, 4], [5, 6, 4, 6]]), np.zeros(3), np.ones(3))
    parts = alignment_windows._joined(left, right, np.array([3, 2]))
    beads = np.concatenate([part.beads for part in parts]).tolist()
    assert beads == [[0, 2, 0, 1], [2, 3, 1, 1], [3, 3, 1, 2], [3, 5, 2, 4], [5, 6, 4, 6]]
