"""MaxSim: how well each word of one side finds its like on the other, by vectors of single words.

As in ColBERT (Khattab and Zaharia 2020), but between two sentences and both ways: a word's best cosine on the other
side, weighted by inverse document frequency. No bitext is needed, only an encoder.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mining.scoring.words import MAX_WORDS, Words
from mining.threads import Threads

_SIDE = ("mean", "rare mean", "worst", "unmatched", "unmatched run")
NAMES = (*(f"maxsim source {name}" for name in _SIDE), *(f"maxsim target {name}" for name in _SIDE), "word order")
CONTRASTED = (0, 1, 5, 6)  # of NAMES: those that are compared with rivals
_UNMATCHED = 0.4  # a best cosine below this is no translation
_LANES = 16  # words compared side by side
_STEP = 4  # dimensions multiplied at a time, of as many words
Four = tuple[int, int, int, int]
_STEPS = tuple(np.uint64(step) for step in range(_STEP))
_ROWS = tuple(np.uint64(step * MAX_WORDS) for step in range(_STEP))


class WordVectors(NamedTuple):
    """The words of one side's texts, a unit vector for each distinct word, and its weight."""

    words: Words
    vectors: NDArray[np.float32]  # (vocabulary, dim), contiguous
    weights: NDArray[np.float32]  # (vocabulary,)


def maxsim_features(
    source: WordVectors, target: WordVectors, rows: NDArray[np.int64], columns: NDArray[np.int64], threads: Threads
) -> NDArray[np.float32]:
    """(pairs, `NAMES`) of pairs of texts; NaN where a text has no words.

    For each side: the weighted mean of its words' best cosines, the same of the rarer half, the worst of a word of more
    than mean weight, the weight of words without a match, and the longest run of them. Word order is the
    correlation of a source word's place with that of its best match.
    """
    out = np.full((len(rows), len(NAMES)), np.nan, np.float32)
    order = np.argsort(rows, kind="stable")  # neighbours share their source, whose vectors are then at hand
    source_vectors, target_vectors = _padded(source.vectors), _padded(target.vectors)

    def work(thread: int, start: int, stop: int) -> None:
        _maxsim(
            source.words.ids, source.words.offsets, source_vectors, source.weights,
            target.words.ids, target.words.offsets, target_vectors, target.weights,
            rows, columns, order[start:stop], out,
        )  # fmt: skip

    threads.over_rows(len(rows), work)
    return out


def _padded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """With dimensions of zeros up to whole steps."""
    lacking = -vectors.shape[1] % _STEP
    return np.pad(vectors, ((0, 0), (0, lacking))) if lacking else vectors


@nb.njit(cache=True, nogil=True)
def _maxsim(
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    source_vectors: np.ndarray,
    source_weights: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
    target_vectors: np.ndarray,
    target_weights: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    order: np.ndarray,
    out: np.ndarray,
) -> None:
    left = np.empty(source_vectors.shape[1] * MAX_WORDS, np.float32)
    sums = np.empty(_STEP * MAX_WORDS, np.float32)
    best, other_best = np.empty(MAX_WORDS, np.float32), np.empty(MAX_WORDS, np.float32)
    place = np.empty(MAX_WORDS, np.int32)
    weight, other_weight = np.empty(MAX_WORDS, np.float32), np.empty(MAX_WORDS, np.float32)
    at_row = -1
    n = width = 0
    for pair in order:
        if rows[pair] != at_row:
            at_row = rows[pair]
            words = source_ids[source_offsets[at_row] : source_offsets[at_row + 1]]
            n = len(words)
            width = _lay_out(words, source_vectors, left)
            for i in range(n):
                weight[i] = source_weights[words[i]]
        others = target_ids[target_offsets[columns[pair]] : target_offsets[columns[pair] + 1]]
        m = len(others)
        if n == 0 or m == 0:
            continue
        best[:width], place[:width] = -2.0, 0
        for j in range(0, m, _STEP):
            second, third, fourth = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
            four = others[j], others[second], others[third], others[fourth]
            _similarities(left, width, target_vectors, four, sums)
            for step in range(min(_STEP, m - j)):
                other_best[j + step] = _note(sums[step * MAX_WORDS :], width, j + step, best, place)
        for j in range(m):
            other_weight[j] = target_weights[others[j]]
        _side_features(best, weight, n, out[pair, :5])
        _side_features(other_best, other_weight, m, out[pair, 5:10])
        out[pair, 10] = _order(place, best, n, m)


@nb.njit(cache=True, nogil=True)
def _lay_out(words: np.ndarray, vectors: np.ndarray, out: np.ndarray) -> int:
    """The vectors of a text's words side by side, (dim, MAX_WORDS), the last of them again up to whole lanes."""
    width = -(-len(words) // _LANES) * _LANES
    for i in range(width):
        word = vectors[words[min(i, len(words) - 1)]]
        for d in range(len(word)):
            out[d * MAX_WORDS + i] = word[d]
    return width


@nb.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _similarities(left: np.ndarray, width: int, vectors: np.ndarray, words: Four, out: np.ndarray) -> None:
    """Products of four words with all words of the other text, which lie side by side: no sum across lanes.

    Each is summed over the dimensions in their order, so that equal words score the same wherever they stand. Such a
    sum waits for itself, so four words are summed at the same time; several dimensions at a time spare loads, and
    numbers without a sign spare the check for negative places.
    """
    u0, u1, u2, u3 = _STEPS
    _, r1, r2, r3 = _ROWS
    a, b, c, e = np.uint64(words[0]), np.uint64(words[1]), np.uint64(words[2]), np.uint64(words[3])
    lanes = np.uint64(width)
    for lane in range(lanes):
        out[lane] = out[lane + r1] = out[lane + r2] = out[lane + r3] = np.float32(0.0)
    for d in range(u0, np.uint64(vectors.shape[1]), np.uint64(_STEP)):
        a0, a1, a2, a3 = vectors[a, d], vectors[a, d + u1], vectors[a, d + u2], vectors[a, d + u3]
        b0, b1, b2, b3 = vectors[b, d], vectors[b, d + u1], vectors[b, d + u2], vectors[b, d + u3]
        c0, c1, c2, c3 = vectors[c, d], vectors[c, d + u1], vectors[c, d + u2], vectors[c, d + u3]
        e0, e1, e2, e3 = vectors[e, d], vectors[e, d + u1], vectors[e, d + u2], vectors[e, d + u3]
        first = d * np.uint64(MAX_WORDS)
        for lane in range(lanes):
            at = first + lane
            x0, x1, x2, x3 = left[at], left[at + r1], left[at + r2], left[at + r3]
            out[lane] = out[lane] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
            out[lane + r1] = out[lane + r1] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            out[lane + r2] = out[lane + r2] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
            out[lane + r3] = out[lane + r3] + e0 * x0 + e1 * x1 + e2 * x2 + e3 * x3


@nb.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _note(similarities: np.ndarray, width: int, other: int, best: np.ndarray, place: np.ndarray) -> np.float32:
    """Raise the best of each word where word `other` is better; returns the best of that one."""
    highest = np.float32(-1.0)
    for i in range(width):
        similarity = similarities[i]
        better = similarity > best[i]
        best[i] = similarity if better else best[i]
        place[i] = np.int32(other) if better else place[i]
        highest = max(highest, similarity)
    return highest


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _side_features(best: np.ndarray, weight: np.ndarray, n: int, out: np.ndarray) -> None:
    total = np.float32(1e-6)
    for i in range(n):
        total += weight[i]
    mean_weight = total / n
    mean = rare = rare_total = unmatched = np.float32(0.0)
    worst = np.float32(1.0)
    run = longest = 0
    for i in range(n):
        mean += weight[i] * best[i]
        heavy = weight[i] >= mean_weight
        if heavy:
            rare += weight[i] * best[i]
            rare_total += weight[i]
            worst = min(worst, best[i])
        if best[i] < _UNMATCHED:
            unmatched += weight[i]
            run += 1
            longest = max(longest, run)
        elif heavy:
            run = 0
    out[0] = mean / total
    out[1] = rare / rare_total if rare_total > 0 else mean / total
    out[2] = worst
    out[3] = unmatched / total
    out[4] = longest


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _order(place: np.ndarray, best: np.ndarray, n: int, m: int) -> float:
    """Correlation of the places of matched words; 0 where there are fewer than three."""
    count = 0
    x = y = xx = yy = xy = 0.0
    for i in range(n):
        if best[i] >= _UNMATCHED:
            u, v = i / n, place[i] / m
            x, y, xx, yy, xy, count = x + u, y + v, xx + u * u, yy + v * v, xy + u * v, count + 1
    if count < 3:
        return 0.0
    spread = (count * xx - x * x) * (count * yy - y * y)
    return (count * xy - x * y) / np.sqrt(spread) if spread > 1e-9 else 0.0
