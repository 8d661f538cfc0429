"""Counts of characters by kind in every text of an Arrow column, in one compiled pass over its UTF-8 bytes."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from mining.utf8_columns import utf8_content

# Letters and digits live in planes 0 to 3; above are only tags and private use.
_LAST = 0x40000
_SURROGATES = range(0xD800, 0xE000)
_SPACE = r"[\s\p{Z}]"


class CharacterCounts(NamedTuple):
    """For each text: its characters, its words (runs without white space), and its characters of each kind."""

    characters: NDArray[np.int64]
    words: NDArray[np.int64]
    kinds: NDArray[np.int64]  # (n, kinds)


def count_characters(text: pa.Array, *kinds: str) -> CharacterCounts:
    """Count characters, words, and members of RE2 character classes such as `\\p{Greek}`."""
    sets = _kind_sets((_SPACE, *kinds))
    counts = np.zeros((len(text), 1 + len(sets.members)), dtype=np.int64)
    if len(text):
        _count(*utf8_content(text), sets.of, sets.members[:, 0] > 0, counts)
    by_kind = counts[:, 1:] @ sets.members
    return CharacterCounts(counts[:, 1:].sum(axis=1), counts[:, 0], by_kind[:, 1:])


class _KindSets(NamedTuple):
    """Which kinds a character belongs to, as the number of a set of kinds."""

    of: NDArray[np.uint8]  # (code points,)
    members: NDArray[np.int64]  # (sets, kinds) 1 where the kind is in the set


@cache
def _kind_sets(kinds: tuple[str, ...]) -> _KindSets:
    bits = np.zeros(_LAST, np.int64)
    for place, kind in enumerate(kinds):
        bits |= class_members(kind).astype(np.int64) << place
    sets, of = np.unique(np.append(bits, 0), return_inverse=True)  # set 0 is of characters beyond the last one
    return _KindSets(of[:-1].astype(np.uint8), sets[:, None] >> np.arange(len(kinds)) & 1)


@cache
def class_members(kind: str) -> NDArray[np.bool_]:
    """Which code points belong to an RE2 character class."""
    members = pc.match_substring_regex(_characters(), kind).to_numpy(zero_copy_only=False)
    members[_SURROGATES.start : _SURROGATES.stop] = False
    return members


@cache
def _characters() -> pa.Array:
    return pa.array([" " if code in _SURROGATES else chr(code) for code in range(_LAST)])


@njit(cache=True, nogil=True)
def _count(
    content: NDArray[np.uint8],
    starts: NDArray[np.int64],
    set_of: NDArray[np.uint8],
    is_space: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """(n, 1 + sets): words, and characters of each set of kinds."""
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        in_word = False
        words = 0
        while at < end:
            code = np.int64(content[at])
            size = 1
            if code >= 0x80:
                size = 2 if code < 0xE0 else 3 if code < 0xF0 else 4
                code &= 0x7F >> size
                for step in range(1, size):
                    code = code << 6 | np.int64(content[at + step] & 0x3F)
            at += size
            kinds = set_of[code] if code < len(set_of) else 0
            words += not is_space[kinds] and not in_word
            in_word = not is_space[kinds]
            counts[row, 1 + kinds] += 1
        counts[row, 0] = words
