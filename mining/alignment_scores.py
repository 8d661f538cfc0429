"""Scores of beads: what the vectors, lengths and words of two spans say of whether they are translations.

A bead of n and m sentences leads from (i - n, j - m) to (i, j); n + m is bounded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mining.alignment_band import Band, Products


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
    freedom: float  # mean distance of sentences that match: how freely the documents are translated


class Room(NamedTuple):
    """Where the kernels keep what concerns beads of n and m sentences that end in some columns of a row."""

    first: (
        np.ndarray
    )  # (sizes + 1, sizes + 1) int64: of the columns where such a bead begins inside the band, the first
    stop: np.ndarray  # (sizes + 1, sizes + 1) int64, and the one behind the last
    box: np.ndarray  # (3, sizes + 1, sizes + 1, columns) inner products, words of the source, of the target
    sums: np.ndarray  # (columns,)
    terms: np.ndarray  # (5, ...) distance, length ratio, excess of length, words inside, words astray
    score: np.ndarray  # (sizes + 1, sizes + 1, columns)


@njit(nogil=True, cache=True)
def make_room(band: Band, size: int) -> Room:
    """For any row of a band."""
    kinds = (size + 1, size + 1)
    shape = (size + 1, size + 1, (band.hi - band.lo).max())
    first, stop = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
    return Room(first, stop, np.zeros((3, *shape)), np.zeros(shape[2]), np.zeros((5, *shape)), np.zeros(shape))


@njit(nogil=True, cache=True)
def bead_start(band: Band, i: int, j: int, n: int, m: int) -> int:
    """The cell where a bead begins that ends at (i, j), a deletion of one sentence included; -1 where there is none."""
    row, column = i - n, j - m
    if row < 0 or column < band.lo[row] or column >= band.hi[row] or (n == 0 and m != 1) or (m == 0 and n != 1):
        return -1
    return band.start[row] + column - band.lo[row]


@njit(nogil=True, cache=True, error_model="numpy")
def distance(product: float, norms: float, unlike: float) -> float:
    """Vecalign's: 2 (1 - cosine) by how unlike random spans each of the two is; `unlike` is the sum of both."""
    return 2 * (1 - product / max(norms, 1e-12)) / (1e-6 + unlike)


@njit(nogil=True, cache=True)
def bead_scores(i: int, begin: int, end: int, task: AlignmentTask, room: Room) -> None:
    """Of the beads of two sides that end at (i, j), `begin <= j < end`, which begin inside the band, and their scores.

    In `room`, `begin` is the first column. Beads of one kind lie side by side and are scored by loops without a branch,
    of which the compiler makes vector instructions. Calls are few: each counts the references of all arrays it takes.
    """
    band, products, size = task.band, task.products, task.weights.beads
    first, stop = room.first, room.stop
    first[:, :] = begin
    stop[:, :] = begin
    for n in range(1, min(size, i + 1)):
        lo, hi = band.lo[i - n], band.hi[i - n]
        for m in range(1, size - n + 1):
            if max(begin, lo + m) < min(end, hi + m):
                first[n, m], stop[n, m] = max(begin, lo + m), min(end, hi + m)
    if len(products.values):
        _boxes(i, begin, end, products, products.values, size, room.box[0], room.sums)
    else:
        _span_products(i, begin, task, room)
    _by_distance(i, begin, task, room)
    if task.weights.ratio != 0.0 or task.weights.squared != 0.0 or task.weights.excess != 0.0:
        _by_length(i, begin, task, room)
    if len(products.source_words):
        _boxes(i, begin, end, products, products.source_words, size, room.box[1], room.sums)
        _boxes(i, begin, end, products, products.target_words, size, room.box[2], room.sums)
        _by_words(i, begin, task, room)


@njit(nogil=True, cache=True)
def _boxes(
    i: int,
    begin: int,
    end: int,
    products: Products,
    values: np.ndarray,
    size: int,
    box: np.ndarray,  # (sizes + 1, sizes + 1, columns)
    sums: np.ndarray,  # (columns,) of one row of sentences
) -> None:
    """box[n, m]: sums of the values of n and m sentences that end before (i, j), where there are such values."""
    for n in range(1, min(size - 1, i) + 1):
        lo, start = products.lo[i - n], products.start[i - n]
        sums[: end - begin] = 0.0
        for m in range(1, size - n + 1):
            first = max(begin, lo + m)
            if first >= end:
                break
            place = start + first - m - lo
            own = values[place : place + end - first]
            total, above = sums[first - begin : end - begin], box[n - 1, m, first - begin : end - begin]
            whole = box[n, m, first - begin : end - begin]
            for k in range(len(own)):
                total[k] += own[k]
            if n == 1:
                whole[:] = total
            else:
                for k in range(len(own)):
                    whole[k] = above[k] + total[k]


@njit(nogil=True, cache=True)
def _span_products(i: int, begin: int, task: AlignmentTask, room: Room) -> None:
    """Inner products of spans that have vectors of their own."""
    for n in range(1, task.weights.beads):
        for m in range(1, task.weights.beads - n + 1):
            for j in range(room.first[n, m], room.stop[n, m]):
                room.box[0, n, m, j - begin] = _product(task.src.spans[n - 1, i - 1], task.tgt.spans[m - 1, j - 1])


@njit(nogil=True, cache=True, fastmath=True)
def _product(x: np.ndarray, y: np.ndarray) -> float:
    total = np.float32(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return float(total)


@njit(nogil=True, cache=True, error_model="numpy")
def _by_distance(i: int, begin: int, task: AlignmentTask, room: Room) -> None:
    """The score as far as vectors, marks and the kind of the bead decide it."""
    src, tgt, weights = task.src, task.tgt, task.weights
    for n in range(1, weights.beads):
        x_norm, x_unlike, x_joined = src.norms[n - 1, i - 1], src.unlike[n - 1, i - 1], src.joined[n - 1, i - 1]
        for m in range(1, weights.beads - n + 1):
            first, stop = room.first[n, m], room.stop[n, m]
            here, there = slice(first - begin, stop - begin), slice(first - 1, stop - 1)
            product, norms, unlike = room.box[0, n, m, here], tgt.norms[m - 1, there], tgt.unlike[m - 1, there]
            joined, prior, far = tgt.joined[m - 1, there], weights.prior[n, m], weights.distance[n, m]
            away, score = room.terms[0, n, m, here], room.score[n, m, here]
            for k in range(stop - first):
                away[k] = distance(product[k], x_norm * norms[k], x_unlike + unlike[k])
                score[k] = prior - far * away[k] + x_joined + joined[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _by_length(i: int, begin: int, task: AlignmentTask, room: Room) -> None:
    """Less what the lengths of both spans say against it."""
    src, tgt, weights = task.src, task.tgt, task.weights
    for n in range(1, weights.beads):
        x, x_log = src.letters[n - 1, i - 1], src.logs[n - 1, i - 1]
        for m in range(1, weights.beads - n + 1):
            first, stop = room.first[n, m], room.stop[n, m]
            here, there = slice(first - begin, stop - begin), slice(first - 1, stop - 1)
            letters, logs, score = tgt.letters[m - 1, there], tgt.logs[m - 1, there], room.score[n, m, here]
            ratio, excess = room.terms[1, n, m, here], room.terms[2, n, m, here]
            for k in range(stop - first):
                own, other = abs(x_log - logs[k]), letters[k]
                ratio[k] = own
                excess[k] = min(abs(x - other) / math.sqrt(x + other + 1.0) / 3.0, 20.0)
                score[k] -= weights.ratio * own + weights.squared * own * own + weights.excess * excess[k]


@njit(nogil=True, cache=True)
def _by_words(i: int, begin: int, task: AlignmentTask, room: Room) -> None:
    """And what the words say that are found inside and outside of it."""
    src, tgt, weights = task.src, task.tgt, task.weights
    for n in range(1, weights.beads):
        x_found = src.found[n - 1, i - 1]
        for m in range(1, weights.beads - n + 1):
            first, stop = room.first[n, m], room.stop[n, m]
            here, there = slice(first - begin, stop - begin), slice(first - 1, stop - 1)
            x, y, found = room.box[1, n, m, here], room.box[2, n, m, here], tgt.found[m - 1, there]
            inside, astray, score = room.terms[3, n, m, here], room.terms[4, n, m, here], room.score[n, m, here]
            for k in range(stop - first):
                inside[k] = math.sqrt(x[k]) + math.sqrt(y[k])
                astray[k] = math.sqrt(max(x_found - x[k], 0.0)) + math.sqrt(max(found[k] - y[k], 0.0))
                score[k] += weights.inside * inside[k] - weights.astray * astray[k]
