"""Weights of the bead model by maximum likelihood from documents whose beads, or bounds of beads, are known.

An alignment's likelihood is its share of all alignments (a conditional random field, Lafferty et al. 2001); where only
bounds are known, all alignments inside them count together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import minimize

from mining.alignment import Document, alignment_task, deletion_terms, gap_sums
from mining.alignment_formats import Bead
from mining.alignment_lattice import Lattice, Remaining, log_add, remaining, search
from mining.alignment_scores import AlignmentTask, bead_scores, bead_start, make_room
from mining.alignment_weights import JOINS, TERMS, BeadModel, prior_term
from mining.alignment_words import located

# Half of what is fitted, roughly: beads that have no share of the alignments by these are not looked at.
_PLAIN: BeadModel = dict.fromkeys(TERMS, 0.0) | {
    "distance n*m": 0.5, "distance n+m": 0.65, "distance": 0.4, "words inside": 0.5, "words astray": 0.15,
    "length ratio": 0.6, "length ratio squared": 0.4, "length excess": 0.9,
    **{term: 0.5 for term in TERMS if term.startswith("bead")}, "deletion": -2.5, "further deletion": -2.0,
}  # fmt: skip
_LEAST_SHARE = 1e-5
_FIRST, _FURTHER = TERMS.index("deletion"), TERMS.index("further deletion")
_NEVER = -1e30


class Bounds(NamedTuple):
    """What is known of an alignment: the group of every sentence, -1 without counterpart.

    A group of which `whole` holds is one bead; of others only that no bead leaves them. None of their sentences is left
    out: else leaving out all of them, which breaks no bound, would be the likeliest.
    """

    source: np.ndarray  # (sentences,) int64
    target: np.ndarray
    whole: np.ndarray  # (groups,) bool


class FitExample(NamedTuple):
    """The beads of two documents that are at all likely, in the order in which they end."""

    to: np.ndarray  # (beads,) int64, the cell where a bead ends
    start: np.ndarray  # (beads,) int64, where it begins
    one_sided: np.ndarray  # (beads,) bool
    allowed: np.ndarray  # (beads,) bool, inside the bounds
    terms: np.ndarray  # (beads, `TERMS`) float64
    cells: int
    weight: float


def gold_bounds(beads: Iterable[Bead], source: int, target: int) -> Bounds:
    """The bounds that gold beads set; such as cross or have holes are one group within which all is open."""
    boxes: list[list[int]] = []  # first and last sentence of the source, of the target, and whether it is one bead
    for src, tgt in sorted(bead for bead in beads if bead[0] and bead[1]):
        box = [min(src), max(src), min(tgt), max(tgt)]
        solid = box[1] - box[0] + 1 == len(src) and box[3] - box[2] + 1 == len(tgt) and len(src) + len(tgt) <= 8
        if boxes and (box[2] <= boxes[-1][3] or box[0] <= boxes[-1][1]):
            last = boxes.pop()
            box, solid = [min(last[0], box[0]), max(last[1], box[1]), min(last[2], box[2]), max(last[3], box[3])], False
        boxes.append([*box, int(solid)])
    groups = np.full(source, -1), np.full(target, -1)
    for number, (a, b, c, d, _) in enumerate(boxes):
        groups[0][a : b + 1] = groups[1][c : d + 1] = number
    return Bounds(*groups, np.array([box[4] for box in boxes], bool))


def paragraph_bounds(paragraphs: Iterable[Bead], source: int, target: int) -> Bounds:
    """The bounds of paragraphs, inside which beads are not known."""
    groups = np.full(source, -1), np.full(target, -1)
    count = 0
    for count, sides in enumerate(paragraphs, 1):
        for group, places in zip(groups, sides, strict=True):
            group[list(places)] = count - 1
    return Bounds(*groups, np.zeros(count, bool))


def make_example(source: Document, target: Document, bounds: Bounds, weight: float = 1.0) -> FitExample:
    task = alignment_task(source, target, model=_PLAIN)
    lattice = search(task)
    rest = remaining(task, lattice.matched, lattice.deleted)
    sizes = (np.bincount(side[side >= 0], minlength=len(bounds.whole)) for side in bounds[:2])
    places, values = _likely_beads(task, lattice, rest, bounds, *sizes)
    i, j, n, m, to, start, allowed = places.T
    terms = _terms(source, target, task, (i, j, n, m), values)
    return FitExample(to, start, (n == 0) | (m == 0), allowed > 0, terms, task.band.cells, weight)


def fit(
    examples: Sequence[FitExample], *, l2: float, without: Sequence[str] = (), begin: BeadModel = _PLAIN
) -> dict[str, float]:
    """The model under which what is allowed is most likely; terms `without` stay at zero. It is sought from `begin`."""
    used = np.array([name not in without for name in TERMS])

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros(len(TERMS))
        for example in examples:
            difference, gradient = _loss(theta, example)
            value += example.weight * difference
            slope += example.weight * gradient
        return value + l2 * float(theta @ theta), (slope + 2 * l2 * theta) * used

    first = np.array([begin[name] for name in TERMS]) * used
    best = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return {name: round(float(value), 3) for name, value in zip(TERMS, best, strict=True)}


def log_likelihood(model: BeadModel, example: FitExample) -> float:
    """The log of the share that the allowed alignments have of all."""
    return -_loss(np.array([model[name] for name in TERMS]), example)[0]


def _loss(theta: np.ndarray, example: FitExample) -> tuple[float, np.ndarray]:
    scores = example.terms @ theta
    every = np.ones(len(scores), np.bool_)
    args = scores, theta[_FIRST], theta[_FURTHER], example.to, example.start, example.one_sided, example.cells
    (total, share, *gaps), (inside, own, *own_gaps) = _sums(*args, every), _sums(*args, example.allowed)
    if inside < _NEVER / 2:
        return 0.0, np.zeros(len(theta))  # no alignment fits the bounds, so nothing is learned here
    gradient = (share - own) @ example.terms
    gradient[[_FIRST, _FURTHER]] += np.subtract(gaps, own_gaps)
    return float(total - inside), gradient


def _terms(
    source: Document, target: Document, task: AlignmentTask, places: tuple[np.ndarray, ...], values: np.ndarray
) -> np.ndarray:
    """(beads, `TERMS`): what each weight is multiplied with. `deletion` and `further` depend on the bead before."""
    i, j, n, m = places
    two = (n > 0) & (m > 0)
    distance, ratio, excess, inside, astray = values.T
    columns = {
        "distance n*m": -distance * n * m, "distance n+m": -distance * (n + m), "distance": -distance,
        "words inside": inside, "words astray": -astray,
        "length ratio": -ratio, "length ratio squared": -(ratio**2), "length excess": -excess,
    }  # fmt: skip
    columns = {name: np.where(two, column, 0.0) for name, column in columns.items()}
    kinds = np.array([prior_term(a, b) for a, b in zip(n.tolist(), m.tolist(), strict=True)])
    columns |= {name: (two & (kinds == name)).astype(float) for name in TERMS if name.startswith("bead")}
    for number, name in enumerate(JOINS):
        gaps = [
            np.zeros(document.sentences) if document.marks is None else document.marks[:, number].astype(float)
            for document in (source, target)
        ]
        sums = [gap_sums(side, task.weights.beads - 1) for side in gaps]
        columns[name] = np.where(two, sums[0][n - 1, i - 1] + sums[1][m - 1, j - 1], 0.0)
    found = located(task.products, source.sentences, target.sentences)
    alone = deletion_terms(source, target, found, task.freedom)
    for name in alone[0]:
        own = np.where(n > 0, alone[0][name][i - 1], alone[1][name][j - 1])
        columns[name] = np.where(two, 0.0, own)
    return np.stack([columns.get(name, np.zeros(len(i))) for name in TERMS], 1)


@njit(nogil=True, cache=True)
def _likely_beads(
    task: AlignmentTask, lattice: Lattice, rest: Remaining, bounds: Bounds, src_sizes: np.ndarray, tgt_sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Beads that have a share or are allowed: i, j, n, m, the cells of their end and begin, whether allowed; terms."""
    band, size = task.band, task.weights.beads
    matched, deleted = lattice.matched, lattice.deleted
    whole = log_add(matched[-1], deleted[-1])
    room = make_room(band, size)
    places, values = [(0, 0, 0, 0, 0, 0, 0)][:0], [(0.0, 0.0, 0.0, 0.0, 0.0)][:0]
    for i in range(len(band.lo)):
        bead_scores(i, band.lo[i], band.hi[i], task, room)
        for j in range(band.lo[i], band.hi[i]):
            column = j - band.lo[i]
            here = band.start[i] + column
            for n in range(size):
                for m in range(size - n + 1):
                    before = bead_start(band, i, j, n, m)
                    if before < 0:
                        continue
                    allowed = _allowed(i, j, n, m, bounds, src_sizes, tgt_sizes)
                    ahead = log_add(matched[before], deleted[before])
                    if n > 0 and m > 0:
                        share = ahead + room.score[n, m, column] + rest.matched[here]
                    else:
                        share = ahead + task.weights.further + rest.deleted[here]
                    if allowed or share - whole > math.log(_LEAST_SHARE):
                        places.append((i, j, n, m, here, before, int(allowed)))
                        terms = room.terms[:, n, m, column]
                        values.append((terms[0], terms[1], terms[2], terms[3], terms[4]))
    return np.array(places), np.array(values)


@njit(nogil=True, cache=True)
def _allowed(i: int, j: int, n: int, m: int, bounds: Bounds, src_sizes: np.ndarray, tgt_sizes: np.ndarray) -> bool:
    group = bounds.source[i - 1] if n > 0 else bounds.target[j - 1]
    if n == 0 or m == 0 or group < 0:
        return bool(group < 0 and (n == 0 or m == 0))
    for place in range(i - n, i):
        if bounds.source[place] != group:
            return False
    for place in range(j - m, j):
        if bounds.target[place] != group:
            return False
    return bool(not bounds.whole[group] or (src_sizes[group] == n and tgt_sizes[group] == m))


@njit(nogil=True, cache=True)
def _sums(
    scores: np.ndarray, first: float, further: float, to: np.ndarray, start: np.ndarray, one_sided: np.ndarray,
    cells: int, allowed: np.ndarray,
) -> tuple[float, np.ndarray, float, float]:  # fmt: skip
    """Log of the sum over all ways of allowed beads, each bead's share of it, first and further deletions expected."""
    matched, deleted = np.full(cells, _NEVER), np.full(cells, _NEVER)
    matched[0] = 0.0
    for k in range(len(to)):
        if allowed[k]:
            end, before = to[k], start[k]
            if one_sided[k]:
                ways = log_add(matched[before] + first, deleted[before] + further)
                deleted[end] = log_add(deleted[end], ways + scores[k])
            else:
                ways = log_add(matched[before], deleted[before])
                matched[end] = log_add(matched[end], ways + scores[k])
    whole = log_add(matched[-1], deleted[-1])
    rest, rest_gap = np.full(cells, _NEVER), np.full(cells, _NEVER)
    rest[-1] = rest_gap[-1] = 0.0
    shares, firsts, others = np.zeros(len(to)), 0.0, 0.0
    for k in range(len(to) - 1, -1, -1):
        if not allowed[k]:
            continue
        end, before = to[k], start[k]
        if one_sided[k]:
            onward = rest_gap[end] + scores[k]
            one = math.exp(min(matched[before] + first + onward - whole, 0.0))
            another = math.exp(min(deleted[before] + further + onward - whole, 0.0))
            shares[k], firsts, others = one + another, firsts + one, others + another
            rest[before] = log_add(rest[before], onward + first)
            rest_gap[before] = log_add(rest_gap[before], onward + further)
        else:
            onward = rest[end] + scores[k]
            shares[k] = math.exp(min(log_add(matched[before], deleted[before]) + onward - whole, 0.0))
            rest[before] = log_add(rest[before], onward)
            rest_gap[before] = log_add(rest_gap[before], onward)
    return whole, shares, firsts, others
