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

    def work(thread: int, start: int, stop: int) -> None:
        _maxsim(
            source.words.ids, source.words.offsets, source.vectors, source.weights,
            target.words.ids, target.words.offsets, target.vectors, target.weights,
            rows, columns, order[start:stop], out,
        )  # fmt: skip

    threads.over_rows(len(rows), work)
    return out


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
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
    dim = source_vectors.shape[1]
    left, right = np.empty((MAX_WORDS, dim), np.float32), np.empty((MAX_WORDS, dim), np.float32)
    best, other_best = np.empty(MAX_WORDS, np.float32), np.empty(MAX_WORDS, np.float32)
    place = np.empty(MAX_WORDS, np.int64)
    weight, other_weight = np.empty(MAX_WORDS, np.float32), np.empty(MAX_WORDS, np.float32)
    at_row = -1
    n = 0
    for pair in order:
        if rows[pair] != at_row:
            at_row = rows[pair]
            first = source_offsets[at_row]
            n = source_offsets[at_row + 1] - first
            for i in range(n):
                left[i] = source_vectors[source_ids[first + i]]
                weight[i] = source_weights[source_ids[first + i]]
        first = target_offsets[columns[pair]]
        m = target_offsets[columns[pair] + 1] - first
        if n == 0 or m == 0:
            continue
        for j in range(m):
            right[j] = target_vectors[target_ids[first + j]]
            other_weight[j] = target_weights[target_ids[first + j]]
            other_best[j] = -1.0
        for i in range(n):
            best[i], place[i] = -2.0, 0
            for j in range(m):
                similarity = np.float32(0.0)
                for d in range(dim):
                    similarity += left[i, d] * right[j, d]
                if similarity > best[i]:
                    best[i], place[i] = similarity, j
                if similarity > other_best[j]:
                    other_best[j] = similarity
        _side_features(best, weight, n, out[pair, :5])
        _side_features(other_best, other_weight, m, out[pair, 5:10])
        out[pair, 10] = _order(place, best, n, m)


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
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
