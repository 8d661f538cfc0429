"""Compiled look-up of the words of many texts in a table by hash, and the tokens that it has for them."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

SPACE = 0x20


class FoundWords(NamedTuple):
    """Which row of the table each word has, the bounds of the texts, and where the first of each new word stands."""

    rows: np.ndarray  # (words,) int32; new words have the next rows
    offsets: np.ndarray  # (texts + 1,) int64
    begins: np.ndarray  # (new words,) int64
    ends: np.ndarray


@nb.njit(cache=True, nogil=True)
def make_slots(keys: np.ndarray, size: int) -> np.ndarray:
    """Places by hash, of a power of two, for the rows of these keys."""
    slots = np.full(size, -1, np.int32)
    for row in range(len(keys)):
        slots[_slot(slots, keys, keys[row])] = row
    return slots


@nb.njit(cache=True, nogil=True, inline="always")
def _slot(slots: np.ndarray, keys: np.ndarray, key: np.uint64) -> np.int64:
    """The place of a key, or the empty one where it belongs: 64 bits of hash do not collide in a vocabulary."""
    slot = np.int64(key >> np.uint64(32)) & (len(slots) - 1)
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@nb.njit(cache=True, nogil=True)
def find_words(
    content: np.ndarray, starts: np.ndarray, words: int, slots: np.ndarray, keys: np.ndarray, known: int
) -> FoundWords:
    """Of the `words` between single spaces, some of them empty; new ones are added to `slots` and `keys`."""
    rows, offsets = np.empty(words, np.int32), np.zeros(len(starts), np.int64)
    begins, ends = np.empty(words, np.int64), np.empty(words, np.int64)
    word = new = 0
    for text in range(len(starts) - 1):
        at, end = starts[text], starts[text + 1]
        while at <= end:
            begin = at
            key = np.uint64(0x9E3779B97F4A7C15)
            while at < end and content[at] != SPACE:
                key = (key ^ np.uint64(content[at])) * np.uint64(0x100000001B3)
                at += 1
            key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(32)
            slot = _slot(slots, keys, key)
            if slots[slot] < 0:
                slots[slot], keys[known + new] = known + new, key
                begins[new], ends[new] = begin, at
                new += 1
            rows[word] = slots[slot]
            word += 1
            at += 1
        offsets[text + 1] = word
    return FoundWords(rows, offsets, begins[:new].copy(), ends[:new].copy())


@nb.njit(cache=True, nogil=True)
def gather_tokens(
    ids: np.ndarray, bounds: np.ndarray, rows: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of each text, whose words have these rows of a table of tokens; and the bounds of the texts."""
    total = 0
    for row in rows:
        total += bounds[row + 1] - bounds[row]
    found, ends = np.empty(total, ids.dtype), np.zeros(len(offsets), np.int64)
    count = 0
    for text in range(len(offsets) - 1):
        for word in range(offsets[text], offsets[text + 1]):
            for place in range(bounds[rows[word]], bounds[rows[word] + 1]):
                found[count] = ids[place]
                count += 1
        ends[text + 1] = count
    return found, ends
