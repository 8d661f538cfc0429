"""Counts of characters by kind in every text of an Arrow column, in one compiled pass over its UTF-8 bytes."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

# Letters and digits live in planes 0 to 3; above are only tags and private use.
_LAST = 0x40000
_SPACE = r"[\s\p{Z}]"


class CharacterCounts(NamedTuple):
    """For each text: its characters, its words (runs without white space), and its characters of each kind."""

    characters: NDArray[np.int64]
    words: NDArray[np.int64]
    kinds: NDArray[np.int64]  # (n, kinds)


def count_characters(text: pa.Array, *kinds: str) -> CharacterCounts:
    """Count characters, words, and members of up to seven RE2 character classes such as `\\p{Greek}`."""
    counts = np.zeros((len(text), 2 + len(kinds)), dtype=np.int64)
    if len(text):
        large = text.cast(pa.large_string())
        _, offsets, data = large.buffers()
        starts = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1]
        content = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
        _count(content, starts, _kind_bits((_SPACE, *kinds)), counts)
    return CharacterCounts(counts[:, 0], counts[:, 1], counts[:, 2:])


@cache
def _kind_bits(kinds: tuple[str, ...]) -> NDArray[np.uint8]:
    """For each code point a bit per kind it belongs to."""
    bits = np.zeros(_LAST, dtype=np.uint8)
    for place, kind in enumerate(kinds):
        bits |= class_members(kind).astype(np.uint8) << place
    return bits


@cache
def class_members(kind: str) -> NDArray[np.bool_]:
    """Which code points belong to an RE2 character class."""
    surrogates = range(0xD800, 0xE000)
    characters = pa.array([" " if code in surrogates else chr(code) for code in range(_LAST)])
    members = pc.match_substring_regex(characters, kind).to_numpy(zero_copy_only=False)
    members[surrogates.start : surrogates.stop] = False
    return members


@njit(cache=True, nogil=True)
def _count(
    content: NDArray[np.uint8], starts: NDArray[np.int64], bits: NDArray[np.uint8], counts: NDArray[np.int64]
) -> None:
    kinds = counts.shape[1] - 2
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        in_word = False
        characters = words = 0
        while at < end:
            lead = content[at]
            if lead < 0x80:
                code, size = np.int64(lead), 1
            elif lead < 0xE0:
                code, size = np.int64(lead & 0x1F), 2
            elif lead < 0xF0:
                code, size = np.int64(lead & 0x0F), 3
            else:
                code, size = np.int64(lead & 0x07), 4
            for step in range(1, size):
                code = code << 6 | np.int64(content[at + step] & 0x3F)
            at += size
            mask = bits[code] if code < len(bits) else np.uint8(0)
            space = (mask & 1) == 1
            characters += 1
            if not space and not in_word:
                words += 1
            in_word = not space
            mask >>= 1
            if mask:
                for kind in range(kinds):
                    counts[row, 2 + kind] += (mask >> kind) & 1
        counts[row, 0], counts[row, 1] = characters, words
