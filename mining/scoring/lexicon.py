"""Word translation probabilities by IBM Model 1 (Brown et al. 1993), both ways, and what they say of a pair."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mining.scoring.words import Words
from mining.threads import Threads

_SIDE = ("likelihood", "coverage", "rare coverage", "probability", "uncovered run", "unknown words")
NAMES = (*(f"lexicon target {name}" for name in _SIDE), *(f"lexicon source {name}" for name in _SIDE))
CONTRASTED = (0, 1, 6, 7)  # of NAMES: those that are compared with rivals
_LONGEST = 40  # words of a training sentence
_SLOTS = 1 << 23  # word pairs that may be met in training: 250 MB
_FULL = 0.6
_KEPT = 0.01  # less likely translations are dropped
_COVERED = 0.1
_RARE = 1e-3  # of a text's words, at most


class Table(NamedTuple):
    """For each word its translations: `others[offsets[w]:offsets[w + 1]]`."""

    offsets: NDArray[np.int64]
    others: NDArray[np.int32]
    probabilities: NDArray[np.float32]


class Lexicon(NamedTuple):
    """Translations of words that are known by the hashes of `Words`, in rising order."""

    source_hashes: NDArray[np.uint64]
    target_hashes: NDArray[np.uint64]
    source_frequency: NDArray[np.float32]
    target_frequency: NDArray[np.float32]
    forward: Table  # t(target | source)
    backward: Table  # t(source | target)


class _Kept(NamedTuple):
    """A vocabulary without words met once."""

    hashes: NDArray[np.uint64]
    frequency: NDArray[np.float32]
    number: NDArray[np.int64]  # of each word of the texts; -1 where it is left out


def train_lexicon(source: Words, target: Words, iterations: int = 5) -> Lexicon:
    """Model 1 over aligned texts; memory is bounded by forgetting word pairs that come when the table is full."""
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source texts, but {len(target)} target texts")
    left, right = _kept(source), _kept(target)
    keys = np.zeros(_SLOTS, np.uint64)
    slots = _enter(
        source.ids, source.offsets, left.number, target.ids, target.offsets, right.number, len(right.hashes), keys
    )
    used = np.flatnonzero(keys)
    sources, targets = np.divmod(keys[used].astype(np.int64) - 1, max(len(right.hashes), 1))
    compact = np.zeros(_SLOTS, np.int32)
    compact[used] = np.arange(len(used))
    slots = np.where(slots >= 0, compact[slots], -1).astype(np.int32)
    del keys, compact
    forward: NDArray[np.float32] = np.ones(len(used), np.float32)
    backward: NDArray[np.float32] = np.ones(len(used), np.float32)
    for iteration in range(iterations):
        counts, back_counts = np.zeros(len(used), np.float32), np.zeros(len(used), np.float32)
        null = np.float32(iteration > 0)
        _expect(
            source.ids, source.offsets, left.number, left.frequency * null,
            target.ids, target.offsets, right.number, right.frequency * null,
            slots, forward, backward, counts, back_counts,
        )  # fmt: skip
        forward = _normalised(counts, sources, len(left.hashes))
        backward = _normalised(back_counts, targets, len(right.hashes))
    return Lexicon(
        left.hashes,
        right.hashes,
        left.frequency,
        right.frequency,
        _table(sources, targets, forward, len(left.hashes)),
        _table(targets, sources, backward, len(right.hashes)),
    )


def lexicon_features(
    lexicon: Lexicon,
    source: Words,
    target: Words,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    threads: Threads,
) -> NDArray[np.float32]:
    """(pairs, `NAMES`) of pairs of texts; NaN where no word is known.

    For each side: the log-likelihood of its words given the other side over that by frequency alone, the share of
    words that some word of the other side translates (weighted by rarity; of rare words alone), the mean probability of
    the best translation, the longest run without one, and the share of words that the lexicon does not know.
    """
    out = np.full((len(rows), len(NAMES)), np.nan, np.float32)
    numbers = _numbers(lexicon.source_hashes, source.hashes), _numbers(lexicon.target_hashes, target.hashes)
    half = len(_SIDE)

    def work(thread: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        sides = (
            (source, numbers[0], rows, target, numbers[1], columns, lexicon.forward, lexicon.target_frequency),
            (target, numbers[1], columns, source, numbers[0], rows, lexicon.backward, lexicon.source_frequency),
        )
        for place, (given, given_number, ends, other, number, other_ends, table, frequency) in enumerate(sides):
            _score(
                given.ids, given.offsets, given_number, ends[part],
                other.ids, other.offsets, number, other_ends[part],
                *table, frequency, out[part, place * half : (place + 1) * half],
            )  # fmt: skip

    threads.over_rows(len(rows), work)
    return out


def _normalised(counts: NDArray[np.float32], words: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    """Counts of translations as shares of each word's."""
    totals = np.bincount(words, weights=counts, minlength=size)
    return np.asarray(counts / np.maximum(totals, 1e-9)[words], np.float32)


def _kept(words: Words) -> _Kept:
    counts = np.bincount(words.ids, minlength=len(words.hashes))
    chosen = np.flatnonzero(counts > 1)
    chosen = chosen[np.argsort(words.hashes[chosen])]
    number = np.full(len(counts), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    return _Kept(words.hashes[chosen], (counts[chosen] / max(counts.sum(), 1)).astype(np.float32), number)


def _numbers(known: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of each hash among the known ones, or -1."""
    if not len(known):
        return np.full(len(hashes), -1, np.int64)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[places] == hashes, places, -1)


def _table(words: np.ndarray, others: np.ndarray, probabilities: np.ndarray, size: int) -> Table:
    kept = np.flatnonzero(probabilities >= _KEPT)
    kept = kept[np.lexsort((-probabilities[kept], words[kept]))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(words[kept], minlength=size))]).astype(np.int64)
    return Table(offsets, others[kept].astype(np.int32), probabilities[kept])


@nb.njit(cache=True, nogil=True)
def _enter(
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    source_number: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
    target_number: np.ndarray,
    targets: int,
    keys: np.ndarray,
) -> np.ndarray:
    """Put every word pair of every sentence pair into a hash table; returns the slot of each, in order, or -1."""
    total = 0
    for row in range(len(source_offsets) - 1):
        n = min(source_offsets[row + 1] - source_offsets[row], _LONGEST)
        m = min(target_offsets[row + 1] - target_offsets[row], _LONGEST)
        total += n * m
    slots = np.empty(total, np.int32)
    size = len(keys)
    entered = at = 0
    for row in range(len(source_offsets) - 1):
        first, last = source_offsets[row], min(source_offsets[row + 1], source_offsets[row] + _LONGEST)
        start, end = target_offsets[row], min(target_offsets[row + 1], target_offsets[row] + _LONGEST)
        for i in range(first, last):
            word = source_number[source_ids[i]]
            for j in range(start, end):
                other = target_number[target_ids[j]]
                slots[at] = -1
                if word >= 0 and other >= 0:
                    key = np.uint64(word * targets + other + 1)
                    slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & (size - 1)
                    while keys[slot] != 0 and keys[slot] != key:
                        slot = (slot + 1) & (size - 1)
                    if keys[slot] == key:
                        slots[at] = slot
                    elif entered < _FULL * size:
                        keys[slot] = key
                        slots[at] = slot
                        entered += 1
                at += 1
    return slots


@nb.njit(cache=True, nogil=True)
def _expect(
    source_ids: np.ndarray,
    source_offsets: np.ndarray,
    source_number: np.ndarray,
    source_null: np.ndarray,
    target_ids: np.ndarray,
    target_offsets: np.ndarray,
    target_number: np.ndarray,
    target_null: np.ndarray,
    slots: np.ndarray,
    forward: np.ndarray,
    backward: np.ndarray,
    counts: np.ndarray,
    back_counts: np.ndarray,
) -> None:
    """The expectation step of both directions; a word may also come from nowhere, by its frequency."""
    at = 0
    for row in range(len(source_offsets) - 1):
        first, n = source_offsets[row], min(source_offsets[row + 1] - source_offsets[row], _LONGEST)
        start, m = target_offsets[row], min(target_offsets[row + 1] - target_offsets[row], _LONGEST)
        for j in range(m):
            other = target_number[target_ids[start + j]]
            if other < 0:
                continue
            _share(slots[at + j : at + n * m : m], target_null[other], forward, counts)
        for i in range(n):
            word = source_number[source_ids[first + i]]
            if word < 0:
                continue
            _share(slots[at + i * m : at + (i + 1) * m], source_null[word], backward, back_counts)
        at += n * m


@nb.njit(cache=True, nogil=True, inline="always")
def _share(slots: np.ndarray, null: np.float32, probabilities: np.ndarray, counts: np.ndarray) -> None:
    """Add to the counts of a word's pairs how likely each of them made it."""
    total = null
    for slot in slots:
        if slot >= 0:
            total += probabilities[slot]
    for slot in slots:
        if slot >= 0:
            counts[slot] += probabilities[slot] / total


@nb.njit(cache=True, nogil=True)
def _score(
    given_ids: np.ndarray,
    given_offsets: np.ndarray,
    given_number: np.ndarray,
    given_rows: np.ndarray,
    ids: np.ndarray,
    offsets: np.ndarray,
    number: np.ndarray,
    rows: np.ndarray,
    table_offsets: np.ndarray,
    others: np.ndarray,
    probabilities: np.ndarray,
    frequency: np.ndarray,
    out: np.ndarray,
) -> None:
    """The features of one side, given the other: translations of the given words are added up where they stand."""
    stamp = np.full(len(frequency), -1, np.int64)
    total, most = np.zeros(len(frequency), np.float32), np.zeros(len(frequency), np.float32)
    for pair in range(len(rows)):
        words = number[ids[offsets[rows[pair]] : offsets[rows[pair] + 1]]]
        given = given_number[given_ids[given_offsets[given_rows[pair]] : given_offsets[given_rows[pair] + 1]]]
        known = 0
        for word in words:
            if word >= 0:
                stamp[word], total[word], most[word] = pair, 0.0, 0.0
                known += 1
        if known:
            _add_translations(given, pair, table_offsets, others, probabilities, stamp, total, most)
            _write_features(words, known, len(given), frequency, total, most, out[pair])


@nb.njit(cache=True, nogil=True)
def _add_translations(
    given: np.ndarray,
    pair: int,
    table_offsets: np.ndarray,
    others: np.ndarray,
    probabilities: np.ndarray,
    stamp: np.ndarray,
    total: np.ndarray,
    most: np.ndarray,
) -> None:
    """The sum and the largest of the translation probabilities of each word that this pair stamped."""
    for word in given:
        if word < 0:
            continue
        for entry in range(table_offsets[word], table_offsets[word + 1]):
            other = others[entry]
            if stamp[other] == pair:
                total[other] += probabilities[entry]
                most[other] = max(most[other], probabilities[entry])


@nb.njit(cache=True, nogil=True)
def _write_features(
    words: np.ndarray,
    known: int,
    given: int,
    frequency: np.ndarray,
    total: np.ndarray,
    most: np.ndarray,
    out: np.ndarray,
) -> None:
    likelihood = covered = weight = rare = rare_count = probability = 0.0
    run = longest = 0
    for word in words:
        if word < 0:
            continue
        chance = frequency[word]
        rarity = -np.log(chance)
        likelihood += np.log(0.9 * total[word] / (given + 1) / chance + 0.1)
        weight += rarity
        probability += most[word]
        hit = most[word] >= _COVERED
        covered += rarity * hit
        if chance < _RARE:
            rare_count += 1
            rare += hit
        run = 0 if hit else run + 1
        longest = max(longest, run)
    out[0] = likelihood / known
    out[1] = covered / weight
    out[2] = rare / rare_count if rare_count else np.nan
    out[3] = probability / known
    out[4] = longest
    out[5] = 1 - known / len(words)
