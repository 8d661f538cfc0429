"""The words of an Arrow column of texts, each distinct one numbered once, in one compiled pass over the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mining.filters.characters import class_members
from mining.utf8_columns import utf8_content

MAX_WORDS = 80  # of a text; what follows would cost more than it tells
_LAST = 0x40000
_FEWEST_SLOTS = 1 << 12
_DENSE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
_LONGEST_RUN = 4  # characters of a script without spaces: a longer run was not segmented, and is cut
_PIECE = 2
_LETTER, _DENSE_LETTER, _DIGIT = 1, 2, 4


@dataclass(frozen=True)
class Words:
    """Texts as numbers of distinct words; `hashes` are the same for the same word, folded to lower case, everywhere."""

    ids: NDArray[np.int32]  # (tokens,)
    offsets: NDArray[np.int64]  # (texts + 1,)
    hashes: NDArray[np.uint64]  # (vocabulary,)
    vocabulary: pa.Array  # (vocabulary,) each word as it was first written

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def idf(self) -> NDArray[np.float32]:
        """Inverse document frequency of each word among these texts."""
        return inverse_frequency(self.frequency(), len(self))

    def frequency(self) -> NDArray[np.int64]:
        """(vocabulary,) how many of the texts have each word."""
        return np.asarray(_document_frequency(self.ids, self.offsets, len(self.hashes)))


def inverse_frequency(counts: NDArray[np.int64], texts: int) -> NDArray[np.float32]:
    """Of words that so many of the texts have."""
    return np.log((texts + 1.0) / (counts + 0.5)).astype(np.float32)


def split_words(texts: pa.Array) -> Words:
    """The first `MAX_WORDS` words of each text: runs of letters, marks and digits, in any script.

    Chinese, Japanese or Thai should come with spaces between its words; a long run without is cut into two-character
    pieces.
    """
    content, starts = utf8_content(texts)
    kinds, folded = _kinds(), _folded()
    capacity = int(starts[-1] - starts[0]) // 2 + len(texts)  # two bytes a word, but for the last of a text
    ids, offsets = np.empty(capacity, np.int32), np.zeros(len(texts) + 1, np.int64)
    begins, ends = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    hashes = np.empty(capacity, np.uint64)
    distinct = _split(content, starts, kinds, folded, ids, offsets, begins, ends, hashes)
    return Words(
        ids[: offsets[-1]], offsets, hashes[:distinct].copy(), slices(content, begins[:distinct], ends[:distinct])
    )


def slices(content: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> pa.Array:
    """Parts of the content as a column of texts."""
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    packed = np.empty(int(offsets[-1]), np.uint8)
    _pack(content, begins, ends, packed)
    return pa.LargeStringArray.from_buffers(len(begins), pa.py_buffer(offsets), pa.py_buffer(packed))


@cache
def _kinds() -> NDArray[np.uint8]:
    kinds = class_members(r"[\p{L}\p{M}]").astype(np.uint8) * _LETTER
    kinds[class_members(_DENSE)] = _DENSE_LETTER
    kinds[class_members(r"\p{N}")] = _DIGIT
    return kinds


@cache
def _folded() -> NDArray[np.uint32]:
    codes = np.arange(_LAST, dtype=np.uint32)
    lower = [chr(code).lower() if not 0xD800 <= code < 0xE000 else "x" for code in range(_LAST)]
    return np.array([ord(c) if len(c) == 1 else code for c, code in zip(lower, codes, strict=True)], np.uint32)


@nb.njit(cache=True, nogil=True, inline="always")
def decode(content: Any, at: int) -> tuple[int, int]:
    """The code point that starts at a byte, and its number of bytes."""
    lead: Any = np.int64(content[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        code, size = lead & 0x1F, 2
    elif lead < 0xF0:
        code, size = lead & 0x0F, 3
    else:
        code, size = lead & 0x07, 4
    for step in range(1, size):
        code = code << 6 | np.int64(content[at + step] & 0x3F)
    return code, size


@nb.njit(cache=True, nogil=True)
def _next_word(content: np.ndarray, at: int, end: int, kinds: np.ndarray) -> tuple[int, int]:
    """Where the next word from `at` on begins and ends; both are `end` where there is none."""
    begin, characters = end, 0
    kind: Any = 0
    while at < end:
        code, size = decode(content, at)
        this: Any = np.int64(kinds[code]) if code < len(kinds) else 0
        if begin == end:
            if this:
                begin, kind, characters = at, this, 1
        elif (
            this == 0
            or (this == _DENSE_LETTER) != (kind == _DENSE_LETTER)
            or (
                kind == _DENSE_LETTER and characters == _PIECE and _run(content, at, end, kinds) > _LONGEST_RUN - _PIECE
            )
        ):
            break
        else:
            characters += 1
        at += size
    return begin, at if begin < end else end


@nb.njit(cache=True, nogil=True)
def _run(content: np.ndarray, at: int, end: int, kinds: np.ndarray) -> int:
    """Characters without a space from `at` on, as far as it matters."""
    count = 0
    while at < end and count <= _LONGEST_RUN:
        code, size = decode(content, at)
        if code >= len(kinds) or kinds[code] != _DENSE_LETTER:
            break
        count += 1
        at += size
    return count


@nb.njit(cache=True, nogil=True)
def _split(
    content: np.ndarray,
    starts: np.ndarray,
    kinds: np.ndarray,
    folded: np.ndarray,
    ids: np.ndarray,
    offsets: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    hashes: np.ndarray,
) -> int:
    """Fill the arrays of `Words`; returns the number of distinct words."""
    table = np.full(_FEWEST_SLOTS, -1, np.int32)
    token = distinct = 0
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        for _ in range(MAX_WORDS):
            begin, at = _next_word(content, at, end, kinds)
            if begin == end:
                break
            key = hash_text(content, begin, at, folded)
            slot = _slot(table, hashes, key)
            word = table[slot]
            if word < 0:
                word, table[slot] = distinct, distinct
                hashes[distinct], begins[distinct], ends[distinct] = key, begin, at
                distinct += 1
                table = _with_room(table, hashes, distinct)
            ids[token] = word
            token += 1
        offsets[row + 1] = token
    return distinct


@nb.njit(cache=True, nogil=True, inline="always")
def _slot(table: np.ndarray, keys: np.ndarray, key: np.uint64) -> np.int64:
    """The place of a key, or the empty one where it belongs: 64 bits of hash do not collide in a vocabulary."""
    slot = np.int64(key >> np.uint64(20)) & (len(table) - 1)
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & (len(table) - 1)
    return slot


@nb.njit(cache=True, nogil=True)
def _with_room(table: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """The table, or once it is half full of these keys one of four times its size."""
    if 2 * count < len(table):
        return table
    larger = np.full(4 * len(table), -1, np.int32)
    for number in range(count):
        larger[_slot(larger, keys, keys[number])] = number
    return larger


class WordNumbers:
    """Words by hash, numbered in the order in which they came."""

    def __init__(self) -> None:
        self._table, self._keys = np.full(_FEWEST_SLOTS, -1, np.int32), np.empty(0, np.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of each of some distinct words; new ones have the next numbers."""
        if self._count + len(hashes) > len(self._keys):  # twice the room, so that growing costs little
            room = np.empty(self._count + 2 * len(hashes), np.uint64)
            self._keys = np.concatenate([self._keys[: self._count], room])
        numbers, self._table, self._count = _number(hashes, self._table, self._keys, self._count)
        return numbers

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of each word, -1 for those that did not come yet."""
        return _find(hashes, self._table, self._keys)


@nb.njit(cache=True, nogil=True)
def _number(hashes: np.ndarray, table: np.ndarray, keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    numbers = np.empty(len(hashes), np.int64)
    for word in range(len(hashes)):
        slot = _slot(table, keys, hashes[word])
        numbers[word] = table[slot]
        if table[slot] < 0:
            numbers[word], table[slot], keys[count] = count, count, hashes[word]
            count += 1
            table = _with_room(table, keys, count)
    return numbers, table, count


@nb.njit(cache=True, nogil=True)
def _find(hashes: np.ndarray, table: np.ndarray, keys: np.ndarray) -> np.ndarray:
    numbers = np.empty(len(hashes), np.int64)
    for word in range(len(hashes)):
        numbers[word] = table[_slot(table, keys, hashes[word])]
    return numbers


@nb.njit(cache=True, nogil=True)
def hash_text(content: np.ndarray, begin: int, end: int, folded: np.ndarray) -> np.uint64:
    """FNV-1a over the folded code points, mixed once more so that every bit depends on all of them."""
    key = np.uint64(14695981039346656037)
    at = begin
    while at < end:
        code, size = decode(content, at)
        key = (key ^ np.uint64(folded[code] if code < len(folded) else code)) * np.uint64(1099511628211)
        at += size
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    return key ^ (key >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def _pack(content: np.ndarray, begins: np.ndarray, ends: np.ndarray, packed: np.ndarray) -> None:
    at = 0
    for item in range(len(begins)):
        for byte in range(begins[item], ends[item]):
            packed[at] = content[byte]
            at += 1


@nb.njit(cache=True, nogil=True)
def _document_frequency(ids: np.ndarray, offsets: np.ndarray, vocabulary: int) -> np.ndarray:
    frequency = np.zeros(vocabulary, np.int64)
    last = np.full(vocabulary, -1, np.int64)
    for row in range(len(offsets) - 1):
        for token in range(offsets[row], offsets[row + 1]):
            word = ids[token]
            if last[word] != row:
                last[word] = row
                frequency[word] += 1
    return frequency
