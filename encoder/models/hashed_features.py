"""The hashed features of a bag on a CPU, in one compiled pass each; the numbers are those of `bag` and `spelling`.

Torch takes a dozen passes over arrays of int64 for each of them, which is most of what a bag costs.
"""

from __future__ import annotations

import numba as nb
import numpy as np

_MIX = np.int64(0x2545F4914F6CDD1D)
_PAIR = np.int64(0x9E3779B97F4A7C1)
_PLACE = np.int64(0x5851F42D4C957F2D)
_FEWEST_SLOTS = 64


@nb.njit(nogil=True, cache=True, inline="always")
def _bucket(key: np.int64, buckets: int) -> np.int64:
    mixed = key * _MIX
    return (mixed ^ (mixed >> 31)) % buckets


@nb.njit(nogil=True, cache=True)
def pair_buckets(ids: np.ndarray, offsets: np.ndarray, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """The bucket of each pair of neighbours inside a sentence, and the bounds of the sentences."""
    found, bounds = np.empty(len(ids), np.int64), np.zeros(len(offsets), np.int64)
    count = 0
    for sentence in range(len(offsets) - 1):
        for place in range(offsets[sentence], offsets[sentence + 1] - 1):
            found[count] = _bucket(ids[place] * _PAIR + ids[place + 1], buckets)
            count += 1
        bounds[sentence + 1] = count
    return found[:count], bounds


@nb.njit(nogil=True, cache=True)
def long_word_buckets(
    ids: np.ndarray, offsets: np.ndarray, word_starts: np.ndarray, buckets: int, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """The bucket of each word of two or more tokens, and the bounds of the sentences."""
    found, bounds = np.empty(len(ids), np.int64), np.zeros(len(offsets), np.int64)
    count = 0
    for sentence in range(len(offsets) - 1):
        place, end = offsets[sentence], offsets[sentence + 1]
        while place < end:
            first, total, power = place, np.int64(0), _PLACE
            while True:
                total += (ids[place] + 1) * power
                if place - first < longest - 1:
                    power *= _PLACE
                place += 1
                if place == end or word_starts[ids[place]]:
                    break
            if place - first > 1:
                found[count] = _bucket(total, buckets)
                count += 1
        bounds[sentence + 1] = count
    return found[:count], bounds


@nb.njit(nogil=True, cache=True)
def words_once(
    ids: np.ndarray, offsets: np.ndarray, word_starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of the different words the first token and the one behind the last; of each word which of them it is, and the
    bounds of the sentences."""
    which, bounds = np.empty(len(ids), np.int64), np.zeros(len(offsets), np.int64)
    firsts, ends = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
    slots = _FEWEST_SLOTS
    while slots < 2 * len(ids):
        slots *= 2
    known, number = np.zeros(slots, np.int64), np.full(slots, -1, np.int64)
    words = different = 0
    for sentence in range(len(offsets) - 1):
        place, end = offsets[sentence], offsets[sentence + 1]
        while place < end:
            first, total = place, np.int64(0)
            while True:
                mixed = (ids[place] + 1) * _PLACE + (place - first) * _PAIR
                mixed = (mixed ^ (mixed >> 29)) * _MIX
                total += mixed ^ (mixed >> 32)
                place += 1
                if place == end or word_starts[ids[place]]:
                    break
            slot = total & (slots - 1)
            while number[slot] >= 0 and known[slot] != total:
                slot = (slot + 1) & (slots - 1)
            if number[slot] < 0:
                known[slot], number[slot] = total, different
                firsts[different], ends[different] = first, place
                different += 1
            which[words] = number[slot]
            words += 1
        bounds[sentence + 1] = words
    return firsts[:different], ends[:different], which[:words], bounds


@nb.njit(nogil=True, cache=True)
def ngram_buckets(
    ids: np.ndarray,
    firsts: np.ndarray,
    ends: np.ndarray,
    spellings: np.ndarray,  # (vocabulary, letters) uint8
    marks: tuple[int, int],  # of the beginning and the end of a word
    sizes: tuple[int, int],
    buckets: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Buckets of the n-grams of words, those of one size behind another, and the bounds of the words."""
    longest = 0
    total = 0
    for word in range(len(firsts)):
        longest = max(longest, ends[word] - firsts[word])
        total += ends[word] - firsts[word]
    width = spellings.shape[1]
    letters = np.empty(longest * width + 2, np.int64)
    found = np.empty(len(sizes) * (total * width + 2 * len(firsts)), np.int64)
    bounds = np.zeros(len(firsts) + 1, np.int64)
    count = 0
    for word in range(len(firsts)):
        letters[0], length = marks[0], 1
        for place in range(firsts[word], ends[word]):
            for letter in spellings[ids[place]]:
                if letter > 0:
                    letters[length] = letter
                    length += 1
        if length > 1:
            letters[length] = marks[1]
            length += 1
            for size in sizes:
                for start in range(length - size + 1):
                    key = np.int64(size)
                    for place in range(start, start + size):
                        key = (key << 8) + letters[place]
                    found[count] = _bucket(key, buckets)
                    count += 1
        bounds[word + 1] = count
    return found[:count], bounds
