"""Pairs of a bitext that came before: the same, or the same but for numbers, accents and the like."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mining.scoring.words import decode
from mining.utf8_columns import utf8_content

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near duplicate"
_REMEMBERED = 1 << 24  # pairs at most, by 8 bytes each
_FEWEST = 1 << 12  # at first: most bitexts are small, and a large table takes long to be touched for the first time
_ROOM = 8  # places for each pair, while there may be as many
_LAST = 0x40000  # above are no letters
_START, _BETWEEN, _NUMBER, _MANIFOLD = 0x2545F4914F6CDD1D, 0x110000, 0x10FFFF, 0x110001  # no characters
_PLACES = 8  # of a bucket: of a quarter as many pairs as there is room for, one in 5,000 is forgotten


class RepeatedPairs:
    """Hashes of the pairs so far, in tables of fixed size: of more pairs than these hold, some duplicates stay."""

    def __init__(self) -> None:
        self._same, self._near = (np.zeros(_FEWEST, np.uint64) for _ in range(2))
        self._count = 0

    def reasons(self, source: pa.ChunkedArray, target: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.Array:
        """The known reasons, and those of repeated pairs where there is none; of pairs that repeat, the first stays."""
        rows = np.flatnonzero(known.is_null().to_numpy())
        keys = np.full((2, len(rows)), _START, np.uint64)  # of what is the same, and of what is nearly so
        digits = np.zeros((2, len(rows)), np.uint64)
        for side, own in zip((source, target), digits, strict=True):
            _add_letters(*utf8_content(side.take(rows).combine_chunks()), *_forms(), keys, own)
        keys[1] += digits[0] == digits[1]  # a pair whose numbers differ is not kept, so no other repeats it
        self._count += len(rows)
        if len(self._same) < min(_ROOM * self._count, _REMEMBERED):
            size = min(_REMEMBERED, 1 << (2 * _ROOM * self._count).bit_length())
            self._same, self._near = _moved(self._same, size), _moved(self._near, size)
        same, near = _met(keys[0], self._same), _met(keys[1], self._near)
        reasons = np.array(known.to_pylist(), object)
        reasons[rows[near]] = NEAR_DUPLICATE
        reasons[rows[same]] = DUPLICATE
        return pa.array(reasons, pa.string())


class _Forms(NamedTuple):
    """What remains of each code point: nothing of signs, and two forms of letters, marks and numbers.

    The first is lower case. The second is without accents, and has one sign for every number: what differs in these
    alone teaches nothing new.
    """

    starts: NDArray[np.int32]  # (code points + 1,) of the forms of one
    letters: NDArray[np.uint32]
    plain_starts: NDArray[np.int32]
    plain: NDArray[np.uint32]
    simple: NDArray[np.uint32]  # (code points,) the only letter of both forms; 0 where neither has any, else _MANIFOLD


@cache
def _forms() -> _Forms:
    """As Unicode has them, by Arrow; a number is `_NUMBER` in the second form."""
    codes = np.arange(_LAST, dtype=np.uint32)
    surrogate = (codes >= 0xD800) & (codes < 0xE000)
    characters = pa.array(["" if hidden else chr(code) for code, hidden in zip(codes, surrogate, strict=True)])
    letters = pc.replace_substring_regex(pc.utf8_lower(characters), r"[^\p{L}\p{M}\p{N}]+", "")
    plain = pc.replace_substring_regex(pc.utf8_normalize(letters, "NFKD"), r"\p{Mn}+", "")
    plain = pc.replace_substring_regex(plain, r"\p{N}+", chr(_NUMBER))
    return _Forms(*_code_points(letters), *_code_points(plain), _simple(letters, plain))


def _code_points(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    starts = np.concatenate([[0], np.cumsum(pc.utf8_length(texts).to_numpy())]).astype(np.int32)
    return starts, np.frombuffer("".join(texts.to_pylist()).encode("utf-32-le"), np.uint32)


def _simple(letters: pa.Array, plain: pa.Array) -> NDArray[np.uint32]:
    same = pc.and_(pc.equal(letters, plain), pc.less_equal(pc.utf8_length(letters), 1))
    only = pc.if_else(same, letters, "").to_pylist()
    codes = np.array([ord(letter) if letter else 0 for letter in only], np.uint32)
    manifold = ~same.to_numpy(zero_copy_only=False) | (codes == _NUMBER)
    return np.where(manifold, np.uint32(_MANIFOLD), codes)


@nb.njit(cache=True, nogil=True)
def _add_letters(
    content: np.ndarray,
    starts: np.ndarray,
    form_starts: np.ndarray,
    letters: np.ndarray,
    plain_starts: np.ndarray,
    plain: np.ndarray,
    simple: np.ndarray,
    keys: np.ndarray,
    digits: np.ndarray,
) -> None:
    """Hash the letters of each text into both keys of its pair, and its digits, whatever their order.

    A text without any stands for itself.
    """
    for row in range(len(starts) - 1):
        same, near = _mixed(keys[0, row], np.uint32(_BETWEEN)), _mixed(keys[1, row], np.uint32(_BETWEEN))
        before, after_number = same, False
        at = starts[row]
        while at < starts[row + 1]:
            code, size = decode(content, at)
            at += size
            if code >= len(simple) or simple[code] == 0:
                continue
            if simple[code] != _MANIFOLD:
                same, near, after_number = _mixed(same, simple[code]), _mixed(near, simple[code]), False
                continue
            for place in range(form_starts[code], form_starts[code + 1]):
                same = _mixed(same, letters[place])
            for place in range(plain_starts[code], plain_starts[code + 1]):
                number = plain[place] == _NUMBER
                if number:
                    digits[row] += _mixed(np.uint64(_START), np.uint32(code))
                if not number or not after_number:
                    near = _mixed(near, plain[place])
                after_number = number
        if same == before:
            for at in range(starts[row], starts[row + 1]):
                same, near = _mixed(same, np.uint32(content[at])), _mixed(near, np.uint32(content[at]))
        keys[0, row], keys[1, row] = same, near


@nb.njit(cache=True, nogil=True, inline="always")
def _mixed(key: np.uint64, code: np.uint32) -> np.uint64:
    key = (key ^ np.uint64(code)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(32))


def _moved(table: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """A table of another size with the same keys."""
    larger = np.zeros(size, np.uint64)
    _met(table[table > 0], larger)
    return larger


@nb.njit(cache=True, nogil=True)
def _met(keys: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Which keys came before, in the table or among these; all are in the table afterwards.

    A key may stand in any of the few places of its bucket; where these are full, it takes that of another.
    """
    met = np.zeros(len(keys), np.bool_)
    buckets = np.uint64(len(table) // _PLACES)
    for row in range(len(keys)):
        key = max(keys[row], np.uint64(1))  # 0 is an empty place
        first = (key % buckets) * np.uint64(_PLACES)
        taken = first + (key >> np.uint64(32)) % np.uint64(_PLACES)
        for place in range(first, first + np.uint64(_PLACES)):
            if table[place] == key or table[place] == 0:
                taken = place
                break
        met[row] = table[taken] == key
        table[taken] = key
    return met
