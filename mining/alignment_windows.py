"""Documents too long to be aligned at once: windows along a coarse path, joined where two of them agree.

Memory is that of one window and of the coarse path, whose units are many sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mining.alignment import BEADS, Alignment, Document, align_sentences, deletions
from mining.alignment_path import coarse_path, unit_sums

WINDOW = 1 << 16  # sentences of both sides together that are aligned at once
_UNIT = 64  # sentences whose sum is a step of the coarse path
_OVERLAP = 32 * _UNIT  # sentences of both sides before and behind a window: inside, the path is surer than the coarse


class LongDocument(NamedTuple):
    """A document of which only parts are made: `part(start, stop)` is one as `align_sentences` takes it."""

    vectors: np.ndarray  # (sentences, dim), of any length; may be mapped
    part: Callable[[int, int], Document]

    @property
    def sentences(self) -> int:
        return len(self.vectors)


def align_long(
    source: LongDocument, target: LongDocument, *, beads: int = BEADS, window: int = WINDOW, threads: int = 1
) -> Alignment:
    """As `align_sentences`, in memory that a window takes for each thread."""
    if source.sentences + target.sentences <= window:
        return align_sentences(source.part(0, source.sentences), target.part(0, target.sentences), beads=beads)

    def align(place: np.ndarray) -> Alignment:
        (a, c), (b, d) = place[1:].tolist()
        part = align_sentences(source.part(a, b), target.part(c, d), beads=beads)
        return part._replace(beads=part.beads + np.array([a, a, c, c]))

    places = _windows(source, target, window)
    parts: list[Alignment] = []
    with ThreadPoolExecutor(threads) as pool:
        for (cut, *_), part in zip(places, pool.map(align, places), strict=True):
            parts[-1:] = _joined(parts[-1], part, cut) if parts else [part]
    return Alignment(*map(np.concatenate, zip(*parts, strict=True)))


def _windows(source: LongDocument, target: LongDocument, window: int) -> np.ndarray:
    """(windows, 3, 2) positions on the coarse path: where each follows the one before, where it begins and ends."""
    sizes = np.array([source.sentences, target.sentences])
    path = np.minimum(coarse_path(unit_sums(source.vectors, _UNIT), unit_sums(target.vectors, _UNIT)) * _UNIT, sizes)
    cuts = np.arange(0, sizes.sum(), window)
    wanted = np.stack([cuts, cuts - _OVERLAP, cuts + window + _OVERLAP], 1)
    # Along the path and not to all sides of it: of a passage that one document lacks, the other has nothing beside.
    return path[np.minimum(np.searchsorted(path.sum(1), wanted), len(path) - 1)]


def _joined(left: Alignment, right: Alignment, cut: np.ndarray) -> list[Alignment]:
    """Two alignments that overlap around a position, each up to or from where they meet next to it.

    Where they never do, what lies between them has no counterpart.
    """
    ends, starts = _boundaries(left), _boundaries(right)
    wide = np.array([1 + max(ends.max(), starts.max()), 1])
    met = np.flatnonzero(np.isin(ends @ wide, starts @ wide))
    candidates = met if len(met) else np.arange(len(ends))
    last = candidates[np.abs(ends[candidates] - cut).sum(1).argmin()]
    after = np.flatnonzero((starts >= ends[last]).all(1))
    first = after[(starts[after] - ends[last]).sum(1).argmin()]
    a, c = ends[last].tolist()
    between = deletions(*(starts[first] - ends[last]).tolist())
    between = between._replace(beads=between.beads + np.array([a, a, c, c]))
    return [Alignment(*(column[:last] for column in left)), between, Alignment(*(column[first:] for column in right))]


def _boundaries(alignment: Alignment) -> np.ndarray:
    """(beads + 1, 2): the positions between beads."""
    return np.concatenate([alignment.beads[:1, [0, 2]], alignment.beads[:, [1, 3]]])
