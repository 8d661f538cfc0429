"""Compiled kernels of monotone alignment: the best path of beads through a band, and what each bead's share of all is.

A bead of n and m sentences leads from (i - n, j - m) to (i, j); n + m is bounded. A cell is reached by a bead of two
sides or by a deletion, and the first of several deletions costs more than the others (Gotoh 1982): sentences are left
out one by one seldom, chapters as a whole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mining.alignment_band import Band, Products

_NEVER = -1e30
_FAR = 25.0  # e to the minus this is nothing beside 1
_FURTHER, _AFTER_GAP = 2, 4  # in `Lattice.gap`


class DocumentSpans(NamedTuple):
    """One document as the kernels see it: what is known of the span of n sentences that ends with each sentence."""

    spans: np.ndarray  # (1 or sizes, sentences, dim) float32; one size: sums of it are the longer spans
    norms: np.ndarray  # (sizes, sentences) float32, length of the span's vector
    unlike: np.ndarray  # (sizes, sentences) float32, 1 - mean cosine with spans of the other document
    letters: np.ndarray  # (sizes, sentences) float64, length of the text
    logs: np.ndarray  # (sizes, sentences) float64, log of it
    found: np.ndarray  # (sizes, sentences) float64, weight of its words that are found in the other document
    joined: np.ndarray  # (sizes, sentences) float64, score for how its sentences belong together
    alone: np.ndarray  # (sentences,) float64, score of leaving the sentence out, beside what every deletion costs


class BeadWeights(NamedTuple):
    """A bead's score is prior + joined - distance * c - length terms + inside * w - astray * v.

    c is Vecalign's normalised distance, 1 for strangers. Of the weight of both sides' words, w is the root of what is
    found in the bead and v of what is found outside of it; a word that is found nowhere says nothing.
    """

    distance: np.ndarray  # (sizes + 1, sizes + 1) float64, for n and m sentences
    prior: np.ndarray  # (sizes + 1, sizes + 1) float64
    ratio: float  # times |log of the length ratio|
    squared: float  # times its square
    excess: float  # times the difference of lengths in standard deviations, after Gale and Church
    inside: float  # times the words in the bead
    astray: float  # times the words elsewhere
    deletion: float  # score of a sentence without counterpart
    further: float  # of one that follows another such
    beads: int  # n + m is at most this


class AlignmentTask(NamedTuple):
    """All that decides an alignment."""

    band: Band
    products: Products
    src: DocumentSpans
    tgt: DocumentSpans
    weights: BeadWeights


class Lattice(NamedTuple):
    """What the best path needs, and the sums over all paths, for cells that end with a bead of two sides or a gap."""

    step: np.ndarray  # (cells,) uint8, n * 16 + m of the best bead of two sides that ends here
    gap: np.ndarray  # (cells,) uint8: 1 if the target's sentence is deleted, + 2 after a deletion, + 4 if best of all
    matched: np.ndarray  # (cells,) float64, log of the sum over all ways to come here with a bead of two sides
    deleted: np.ndarray  # (cells,) float64, with a deletion

    @property
    def total(self) -> float:
        return float(np.logaddexp(self.matched[-1], self.deleted[-1]))


class Room(NamedTuple):
    """Where the kernels keep what concerns one cell: for all n and m."""

    box: np.ndarray  # (3, sizes + 1, sizes + 1) inner products, words of the source, of the target
    terms: np.ndarray  # (5, sizes + 1, sizes + 1) distance, length ratio, excess of length, words inside, words astray
    score: np.ndarray  # (sizes + 1, sizes + 1)
    cell: np.ndarray  # (sizes + 1, sizes + 1) int64, where the bead begins; -1 where that is no cell


@njit(nogil=True, cache=True)
def make_room(size: int) -> Room:
    shape = (size + 1, size + 1)
    return Room(np.zeros((3, *shape)), np.zeros((5, *shape)), np.zeros(shape), np.full(shape, -1))


@njit(nogil=True, cache=True)
def _boxes(i: int, j: int, lo: np.ndarray, start: np.ndarray, values: np.ndarray, size: int, box: np.ndarray) -> None:
    """box[n, m]: sum of the values of n and m sentences that end before (i, j)."""
    for n in range(1, min(size - 1, i) + 1):
        row = i - n
        total = 0.0
        for m in range(1, min(size - n, j - lo[row]) + 1):
            total += values[start[row] + j - m - lo[row]]
            box[n, m] = (box[n - 1, m] if n > 1 else 0.0) + total


@njit(nogil=True, cache=True, fastmath=True)
def _product(x: np.ndarray, y: np.ndarray) -> float:
    total = np.float32(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return float(total)


@njit(nogil=True, cache=True)
def distance(product: float, norms: float, unlike: float) -> float:
    """Vecalign's: 2 (1 - cosine) by how unlike random spans each of the two is; `unlike` is the sum of both."""
    return 2 * (1 - product / max(norms, 1e-12)) / (1e-6 + unlike)


@njit(nogil=True, cache=True)
def _starts(i: int, j: int, band: Band, size: int, cell: np.ndarray) -> None:
    """Where the beads that end at (i, j) begin."""
    cell[:, :] = -1
    for n in range(min(size, i + 1)):
        row = i - n
        most = size - n if n > 1 else (size - 1 if n == 1 else 1)
        for m in range(0 if n == 1 else 1, most + 1):
            if band.lo[row] <= j - m < band.hi[row]:
                cell[n, m] = band.start[row] + j - m - band.lo[row]


@njit(nogil=True, cache=True)
def bead_scores(i: int, j: int, task: AlignmentTask, room: Room) -> None:
    """Of all beads that end at (i, j) where they begin, and of those of two sides the scores.

    One long loop: a call for every bead would count the references of all arrays each time, ten times the work.
    """
    products, src, tgt, weights, size = task.products, task.src, task.tgt, task.weights, task.weights.beads
    box, terms, score, cell = room.box, room.terms, room.score, room.cell
    linear, worded = len(products.values) > 0, len(products.source_words) > 0
    _starts(i, j, task.band, size, cell)
    if linear:
        _boxes(i, j, products.lo, products.start, products.values, size, box[0])
    if worded:
        _boxes(i, j, products.lo, products.start, products.source_words, size, box[1])
        _boxes(i, j, products.lo, products.start, products.target_words, size, box[2])
    norms, unlike, letters, logs, found = tgt.norms, tgt.unlike, tgt.letters, tgt.logs, tgt.found
    joined = tgt.joined
    far, prior = weights.distance, weights.prior
    measured = weights.ratio != 0.0 or weights.squared != 0.0 or weights.excess != 0.0
    for n in range(1, min(size, i + 1)):
        own = src.norms[n - 1, i - 1], src.unlike[n - 1, i - 1], src.letters[n - 1, i - 1]
        own_log, own_found, own_joined = src.logs[n - 1, i - 1], src.found[n - 1, i - 1], src.joined[n - 1, i - 1]
        for m in range(1, size - n + 1):
            if cell[n, m] < 0:
                continue
            product = box[0, n, m] if linear else _product(src.spans[n - 1, i - 1], tgt.spans[m - 1, j - 1])
            away = distance(product, own[0] * norms[m - 1, j - 1], own[1] + unlike[m - 1, j - 1])
            value = prior[n, m] - far[n, m] * away + own_joined + joined[m - 1, j - 1]
            terms[0, n, m] = away
            if measured:
                y = letters[m - 1, j - 1]
                ratio = abs(own_log - logs[m - 1, j - 1])
                excess = min(abs(own[2] - y) / math.sqrt(own[2] + y + 1.0) / 3.0, 20.0)
                value -= weights.ratio * ratio + weights.squared * ratio * ratio + weights.excess * excess
                terms[1, n, m], terms[2, n, m] = ratio, excess
            if worded:
                x, y = box[1, n, m], box[2, n, m]
                inside = math.sqrt(x) + math.sqrt(y)
                astray = math.sqrt(max(own_found - x, 0.0)) + math.sqrt(max(found[m - 1, j - 1] - y, 0.0))
                value += weights.inside * inside - weights.astray * astray
                terms[3, n, m], terms[4, n, m] = inside, astray
            score[n, m] = value


@njit(nogil=True, cache=True)
def search(task: AlignmentTask) -> Lattice:
    """The best way to every cell, and the sum over all ways."""
    band, src, tgt, weights = task.band, task.src, task.tgt, task.weights
    cells = band.start[-1]
    step, gap = np.zeros(cells, np.uint8), np.zeros(cells, np.uint8)
    best, best_gap = np.full(cells, _NEVER), np.full(cells, _NEVER)
    matched, deleted = np.full(cells, _NEVER), np.full(cells, _NEVER)
    both = np.full(cells, _NEVER)
    room = make_room(weights.beads)
    for i in range(len(band.lo)):
        for j in range(band.lo[i], band.hi[i]):
            here = band.start[i] + j - band.lo[i]
            if i == 0 and j == 0:
                best[here] = matched[here] = both[here] = 0.0
                continue
            bead_scores(i, j, task, room)
            for target in range(2):
                before = room.cell[1 - target, target]
                if before < 0:
                    continue
                alone = tgt.alone[j - 1] if target else src.alone[i - 1]
                first, next_ = best[before] + weights.deletion + alone, best_gap[before] + weights.further + alone
                if max(first, next_) > best_gap[here]:
                    best_gap[here] = max(first, next_)
                    gap[here] = target + (_FURTHER if next_ > first else 0)
                sum_ = log_add(matched[before] + weights.deletion, deleted[before] + weights.further)
                deleted[here] = log_add(deleted[here], sum_ + alone)
            best[here], step[here], matched[here] = _matches(weights.beads, room.score, room.cell, best, best_gap, both)
            both[here] = log_add(matched[here], deleted[here])
            gap[here] += _AFTER_GAP if best_gap[here] > best[here] else 0
    return Lattice(step, gap, matched, deleted)


@njit(nogil=True, cache=True)
def _matches(
    size: int, score: np.ndarray, cell: np.ndarray, best: np.ndarray, best_gap: np.ndarray, both: np.ndarray
) -> tuple[float, int, float]:
    """Of the beads of two sides that end in a cell: the best way, its last bead, and the sum over all ways."""
    highest, bead, most = _NEVER, 0, _NEVER
    for n in range(1, size):
        for m in range(1, size - n + 1):
            before = cell[n, m]
            if before >= 0:
                value = max(best[before], best_gap[before]) + score[n, m]
                if value > highest:
                    highest, bead = value, n * 16 + m
                most = max(most, both[before] + score[n, m])
    if most <= _NEVER / 2:
        return _NEVER, 0, _NEVER
    share = 0.0
    for n in range(1, size):
        for m in range(1, size - n + 1):
            if cell[n, m] >= 0:
                difference = both[cell[n, m]] + score[n, m] - most
                if difference > -_FAR:
                    share += math.exp(difference)
    return highest, bead, most + math.log(share)


@njit(nogil=True, cache=True)
def trace(band: Band, step: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The beads (count, 4) of the best path: first and last + 1 sentence of the source, of the target."""
    i = len(band.lo) - 1
    j = band.hi[i] - 1
    beads = np.empty((i + j, 4), np.int64)
    count = 0
    in_gap = gap[-1] & _AFTER_GAP > 0
    while i > 0 or j > 0:
        here = band.start[i] + j - band.lo[i]
        code = gap[here]
        n, m = (1 - (code & 1), code & 1) if in_gap else (step[here] // 16, step[here] % 16)
        beads[count] = (i - n, i, j - m, j)
        count += 1
        i, j = i - n, j - m
        before = band.start[i] + j - band.lo[i]
        in_gap = code & _FURTHER > 0 if in_gap else gap[before] & _AFTER_GAP > 0
    return beads[:count][::-1].copy()


class Remaining(NamedTuple):
    """For every cell the log of the sum over all ways from it to the end, by what ends there."""

    matched: np.ndarray
    deleted: np.ndarray


@njit(nogil=True, cache=True)
def remaining(task: AlignmentTask, matched: np.ndarray, deleted: np.ndarray) -> Remaining:
    band, src, tgt, weights, size = task.band, task.src, task.tgt, task.weights, task.weights.beads
    rest, rest_gap = np.full(band.start[-1], _NEVER), np.full(band.start[-1], _NEVER)
    rest[-1] = rest_gap[-1] = 0.0
    whole = log_add(matched[-1], deleted[-1])
    room = make_room(size)
    for i in range(len(band.lo) - 1, -1, -1):
        for j in range(band.hi[i] - 1, band.lo[i] - 1, -1):
            here = band.start[i] + j - band.lo[i]
            through = max(matched[here] + rest[here], deleted[here] + rest_gap[here])
            if here == 0 or through < whole - _FAR:
                continue  # next to no path comes through here
            bead_scores(i, j, task, room)
            for n in range(size):
                for m in range(size - n + 1):
                    before = room.cell[n, m]
                    if before < 0:
                        continue
                    if n == 0 or m == 0:
                        onward = rest_gap[here] + (src.alone[i - 1] if m == 0 else tgt.alone[j - 1])
                        rest[before] = log_add(rest[before], onward + weights.deletion)
                        rest_gap[before] = log_add(rest_gap[before], onward + weights.further)
                    else:
                        rest[before] = log_add(rest[before], rest[here] + room.score[n, m])
                        rest_gap[before] = log_add(rest_gap[before], rest[here] + room.score[n, m])
    return Remaining(rest, rest_gap)


@njit(nogil=True, cache=True)
def log_add(x: float, y: float) -> float:
    high, low = max(x, y), min(x, y)
    return high if high - low > _FAR else high + math.log1p(math.exp(low - high))


@njit(nogil=True, cache=True)
def judge(
    beads: np.ndarray, task: AlignmentTask, matched: np.ndarray, deleted: np.ndarray, rest: Remaining
) -> tuple[np.ndarray, np.ndarray]:
    """The normalised distance of each bead (NaN where one side is empty) and its share of all paths."""
    band, weights = task.band, task.weights
    distances, shares = np.full(len(beads), np.nan), np.empty(len(beads))
    whole = log_add(matched[-1], deleted[-1])
    room = make_room(weights.beads)
    for k in range(len(beads)):
        i, j = beads[k, 1], beads[k, 3]
        n, m = i - beads[k, 0], j - beads[k, 2]
        here = band.start[i] + j - band.lo[i]
        bead_scores(i, j, task, room)
        before = room.cell[n, m]
        if n > 0 and m > 0:
            share = log_add(matched[before], deleted[before]) + room.score[n, m] + rest.matched[here]
            distances[k] = room.terms[0, n, m]
        else:
            share = log_add(matched[before] + weights.deletion, deleted[before] + weights.further)
            share += rest.deleted[here] + (task.src.alone[i - 1] if m == 0 else task.tgt.alone[j - 1])
        shares[k] = math.exp(min(share - whole, 0.0))
    return distances, shares
