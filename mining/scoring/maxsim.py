"""MaxSim: how well each word of one side finds its like on the other, by vectors of single words.

As in ColBERT (Khattab and Zaharia 2020), but between two sentences and both ways: a word's best cosine on the other
side, weighted by inverse document frequency. No bitext is needed, only an encoder.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mining.scoring.best_matches import LANES, WORDS, note_matches
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
        best[:width], place[:width], other_best[:m] = -2.0, 0, -1.0
        for j in range(0, m, WORDS):
            second, third, fourth = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
            four = others[j], others[second], others[third], others[fourth]
            note_matches(left, width, target_vectors, four, j, best, place, other_best)
        for j in range(m):
            other_weight[j] = target_weights[others[j]]
        _side_features(best, weight, n, out[pair, :5])
        _side_features(other_best, other_weight, m, out[pair, 5:10])
        out[pair, 10] = _order(place, best, n, m)


@nb.njit(cache=True, nogil=True)
def _lay_out(words: np.ndarray, vectors: np.ndarray, out: np.ndarray) -> int:
    """The vectors of a text's words side by side, (dim, width), the last of them again up to whole lanes.

    Numbers without a sign spare the check for negative places.
    """
    last = len(words) - 1
    width = np.uint64(-(-len(words) // LANES) * LANES)
    dims = np.uint64(vectors.shape[1])
    for i in range(0, width, 4):
        a, b = np.uint64(words[min(i, last)]), np.uint64(words[min(i + 1, last)])
        c, e = np.uint64(words[min(i + 2, last)]), np.uint64(words[min(i + 3, last)])
        at = np.uint64(i)
        for d in range(dims):
            out[at], out[at + np.uint64(1)] = vectors[a, d], vectors[b, d]
            out[at + np.uint64(2)], out[at + np.uint64(3)] = vectors[c, d], vectors[e, d]
            at += width
    return int(width)


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _side_features(best: np.ndarray, weight: np.ndarray, n: int, out: np.ndarray) -> None:
    total = np.float32(1e-6)
    for i in range(n):
        total += weight[i]
    mean, rare, rare_total, out[2], unmatched, out[4] = _weighted(best, weight, n, total / n)
    out[0] = mean / total
    out[1] = rare / rare_total if rare_total > 0 else mean / total
    out[3] = unmatched / total


@nb.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _weighted(best: np.ndarray, weight: np.ndarray, n: int, mean_weight: np.float32):  # type: ignore[no-untyped-def]
    """Sums of best cosines, of those of heavy words and of these words' weights, the worst of them, the weight of
    unmatched words and their longest run. Without branches, which no CPU could foresee."""
    mean = rare = rare_total = unmatched = np.float32(0.0)
    worst = np.float32(1.0)
    run = longest = 0
    for i in range(n):
        value, own = best[i], weight[i]
        heavy, lacking = own >= mean_weight, value < _UNMATCHED
        mean += own * value
        rare = rare + own * value if heavy else rare
        rare_total = rare_total + own if heavy else rare_total
        worst = min(worst, value) if heavy else worst
        unmatched = unmatched + own if lacking else unmatched
        run = run + 1 if lacking else (0 if heavy else run)
        longest = max(longest, run)
    return mean, rare, rare_total, worst, unmatched, longest


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
