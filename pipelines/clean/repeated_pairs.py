"""Pairs of a bitext that came before: the same, or the same but for numbers, accents and the like."""

from __future__ import annotations

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

DUPLICATE, NEAR_DUPLICATE = "duplicate", "near duplicate"
_REMEMBERED = 1 << 24  # pairs, by 8 bytes each
_PLACES = 8  # of a bucket: of a quarter as many pairs as there is room for, one in 5,000 is forgotten


class RepeatedPairs:
    """Hashes of the pairs so far, in tables of fixed size: of more pairs than these hold, some duplicates stay."""

    def __init__(self) -> None:
        self._same, self._near = (np.zeros(_REMEMBERED, np.uint64) for _ in range(2))

    def reasons(self, source: pa.ChunkedArray, target: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.Array:
        """The known reasons, and those of repeated pairs where there is none; of pairs that repeat, the first stays."""
        rows = np.flatnonzero(known.is_null().to_numpy())
        letters = [_letters(side.take(rows)) for side in (source, target)]
        same = _met(_keys(*letters), self._same)
        near = _met(_keys(*map(_without_details, letters)), self._near)
        reasons = np.array(known.to_pylist(), object)
        reasons[rows[near]] = NEAR_DUPLICATE
        reasons[rows[same]] = DUPLICATE
        return pa.array(reasons, pa.string())


def _letters(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Letters and digits alone, in lower case; a text without any stands for itself."""
    plain = pc.replace_substring_regex(pc.utf8_lower(texts), r"[^\p{L}\p{M}\p{N}]+", "")
    return pc.if_else(pc.equal(pc.binary_length(plain), 0), texts, plain)


def _without_details(letters: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every number as 0, and no accents: what differs in these alone teaches nothing new."""
    plain = pc.replace_substring_regex(pc.utf8_normalize(letters, "NFKD"), r"\p{Mn}+", "")
    return pc.replace_substring_regex(plain, r"\p{N}+", "0")


def _keys(source: pa.ChunkedArray, target: pa.ChunkedArray) -> np.ndarray:
    joined = pc.binary_join_element_wise(source.cast(pa.binary()), target.cast(pa.binary()), b"\t")
    return np.fromiter((xxhash.xxh3_64_intdigest(text) for text in joined.to_pylist()), np.uint64, len(joined))


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
