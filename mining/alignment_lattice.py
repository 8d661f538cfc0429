"""Compiled kernels of monotone alignment: the best path of beads through a band, and what each bead's share of all is.

A cell is reached by a bead of two sides or by a deletion, and the first of several deletions costs more than the
others (Gotoh 1982): sentences are left out one by one seldom, chapters as a whole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mining.alignment_band import Band
from mining.alignment_scores import AlignmentTask, Room, bead_scores, bead_start, make_room

_NEVER = -1e30
_FAR = 25.0  # e to the minus this is nothing beside 1
_FURTHER, _AFTER_GAP = 2, 4  # in `Lattice.gap`


class Lattice(NamedTuple):
    """What the best path needs, and the sums over all paths, for cells that end with a bead of two sides or a gap."""

    step: np.ndarray  # (cells,) uint8, n * 16 + m of the best bead of two sides that ends here
    gap: np.ndarray  # (cells,) uint8: 1 if the target's sentence is deleted, + 2 after a deletion, + 4 if best of all
    matched: np.ndarray  # (cells,) float64, log of the sum over all ways to come here with a bead of two sides
    deleted: np.ndarray  # (cells,) float64, with a deletion

    @property
    def total(self) -> float:
        return float(np.logaddexp(self.matched[-1], self.deleted[-1]))


@njit(nogil=True, cache=True)
def search(task: AlignmentTask, reluctance: float = 0.0) -> Lattice:
    """The best way to every cell, which pays `reluctance` for a gap beside its weight, and the sum over all ways."""
    band, src, tgt, weights = task.band, task.src, task.tgt, task.weights
    cells = band.start[-1]
    step, gap = np.zeros(cells, np.uint8), np.zeros(cells, np.uint8)
    best, best_gap = np.full(cells, _NEVER), np.full(cells, _NEVER)
    matched, deleted = np.full(cells, _NEVER), np.full(cells, _NEVER)
    reached, both = np.full(cells, _NEVER), np.full(cells, _NEVER)  # the better, and the sum, of both ways
    room = make_room(band, weights.beads)
    for i in range(len(band.lo)):
        bead_scores(i, band.lo[i], band.hi[i], task, room)
        row = slice(band.start[i], band.start[i + 1])
        _enter_matches(i, band, weights.beads, room, reached, both, best[row], step[row], matched[row])
        for j in range(band.lo[i], band.hi[i]):
            here = band.start[i] + j - band.lo[i]
            if here == 0:
                best[here] = matched[here] = 0.0
            for target in range(2):
                before = bead_start(band, i, j, 1 - target, target)
                if before < 0:
                    continue
                alone = tgt.alone[j - 1] if target else src.alone[i - 1]
                first = best[before] + weights.deletion - reluctance + alone
                next_ = best_gap[before] + weights.further + alone
                if max(first, next_) > best_gap[here]:
                    best_gap[here] = max(first, next_)
                    gap[here] = target + (_FURTHER if next_ > first else 0)
                sum_ = log_add(matched[before] + weights.deletion, deleted[before] + weights.further)
                deleted[here] = log_add(deleted[here], sum_ + alone)
            reached[here], both[here] = max(best[here], best_gap[here]), log_add(matched[here], deleted[here])
            gap[here] += _AFTER_GAP if best_gap[here] > best[here] else 0
    return Lattice(step, gap, matched, deleted)


@njit(nogil=True, cache=True)
def _enter_matches(
    i: int,
    band: Band,
    size: int,
    room: Room,
    reached: np.ndarray,
    both: np.ndarray,
    best: np.ndarray,
    step: np.ndarray,
    matched: np.ndarray,
) -> None:
    """Of the beads of two sides that end in each cell of row i: the best way, its last bead, the sum over all ways.

    All of them begin in rows before, so that cells do not wait for one another.
    """
    lo, width, firsts, stops, scores = band.lo[i], len(best), room.first, room.stop, room.score
    last, most, share = np.zeros(width), np.full(width, _NEVER), np.zeros(width)
    for n in range(1, min(size, i + 1)):
        row = band.start[i - n] - band.lo[i - n]
        for m in range(1, size - n + 1):
            first, stop = firsts[n, m], stops[n, m]
            here, start = slice(first - lo, stop - lo), slice(row + first - m, row + stop - m)
            score = scores[n, m, here]
            ways, sums = reached[start], both[start]
            highest, bead, top = best[here], last[here], most[here]
            for k in range(len(score)):
                value = ways[k] + score[k]
                bead[k] = n * 16 + m if value > highest[k] else bead[k]
                highest[k] = max(value, highest[k])
                top[k] = max(top[k], sums[k] + score[k])
    for n in range(1, min(size, i + 1)):
        row = band.start[i - n] - band.lo[i - n]
        for m in range(1, size - n + 1):
            first, stop = firsts[n, m], stops[n, m]
            here, start = slice(first - lo, stop - lo), slice(row + first - m, row + stop - m)
            score = scores[n, m, here]
            sums, top, own = both[start], most[here], share[here]
            for k in range(len(score)):
                difference = sums[k] + score[k] - top[k]
                if difference > -_FAR:
                    own[k] += math.exp(difference)
    for k in range(width):
        if most[k] > _NEVER / 2:
            step[k], matched[k] = last[k], most[k] + math.log(share[k])
        else:
            best[k] = _NEVER


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
    room = make_room(band, size)
    for i in range(len(band.lo) - 1, -1, -1):
        begin, scored = band.lo[i], False
        for j in range(band.hi[i] - 1, begin - 1, -1):
            here = band.start[i] + j - begin
            through = max(matched[here] + rest[here], deleted[here] + rest_gap[here])
            if here == 0 or through < whole - _FAR:
                continue  # next to no path comes through here
            if not scored:
                bead_scores(i, begin, j + 1, task, room)
                scored = True
            for n in range(size):
                for m in range(size - n + 1):
                    before = bead_start(band, i, j, n, m)
                    if before < 0:
                        continue
                    if n == 0 or m == 0:
                        onward = rest_gap[here] + (src.alone[i - 1] if m == 0 else tgt.alone[j - 1])
                        rest[before] = log_add(rest[before], onward + weights.deletion)
                        rest_gap[before] = log_add(rest_gap[before], onward + weights.further)
                    else:
                        onward = rest[here] + room.score[n, m, j - begin]
                        rest[before] = log_add(rest[before], onward)
                        rest_gap[before] = log_add(rest_gap[before], onward)
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
    room = make_room(band, weights.beads)
    for k in range(len(beads)):
        i, j = beads[k, 1], beads[k, 3]
        n, m = i - beads[k, 0], j - beads[k, 2]
        here = band.start[i] + j - band.lo[i]
        before = bead_start(band, i, j, n, m)
        if n > 0 and m > 0:
            bead_scores(i, j, j + 1, task, room)
            share = log_add(matched[before], deleted[before]) + room.score[n, m, 0] + rest.matched[here]
            distances[k] = room.terms[0, n, m, 0]
        else:
            share = log_add(matched[before] + weights.deletion, deleted[before] + weights.further)
            share += rest.deleted[here] + (task.src.alone[i - 1] if m == 0 else task.tgt.alone[j - 1])
        shares[k] = math.exp(min(share - whole, 0.0))
    return distances, shares
