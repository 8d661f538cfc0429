"""Hashed character n-grams and words of a sentence: what the language identifier looks at."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

MAX_CHARACTERS = 120  # of a sentence; more of it hardly changes the answer, and costs
BUCKETS_LOG2 = 18
_LONGEST = 5  # n-gram in letters
MAX_FEATURES = MAX_CHARACTERS * (_LONGEST + 3)  # those of all words fit
MAX_WORDS = MAX_CHARACTERS // 2 + 1

_SPACE = 0x20
_SIGNS_OF_CODE = tuple(map(ord, "#$&*+/<=>@\\^_`{|}~"))
_BREAK, UNKNOWN, _LATIN, _LETTER, _IDEOGRAPH = range(5)
# First and last code points of the scripts that there was text in, Latin and ideographs aside.
_SCRIPTS = (
    (0x0370, 0x06FF),  # Greek, Cyrillic, Armenian, Hebrew, Arabic
    (0x0750, 0x077F),  # more Arabic
    (0x08A0, 0x08FF),
    (0x0900, 0x0EFF),  # Devanagari to Lao
    (0x0F00, 0x109F),  # Tibetan, Burmese
    (0x10A0, 0x13FF),  # Georgian, Hangul, Ethiopic, Cherokee
    (0x1780, 0x17FF),  # Khmer
    (0x1C80, 0x1CBF),  # more Cyrillic and Georgian
    (0x1F00, 0x1FFF),  # more Greek
    (0x2D00, 0x2DFF),  # more Georgian, Ethiopic, Cyrillic
    (0x3130, 0x318F),  # more Hangul
    (0xA960, 0xA97F),
    (0xAB70, 0xABBF),  # more Cherokee
    (0xAC00, 0xD7FF),
    (0xFB1D, 0xFEFF),  # forms of Hebrew and Arabic letters
)
# A sentence with one letter of another script to this many Latin ones is in that script; an ideograph counts for more.
_LATIN_FOR_ANOTHER = 3
_IDEOGRAPH_LETTERS = 3


class CodePoints(NamedTuple):
    """Sentences in lower case, one behind the other: sentence i is `points[ends[i - 1]:ends[i]]`."""

    points: NDArray[np.uint32]
    ends: NDArray[np.int64]


def code_points(sentences: Sequence[str]) -> CodePoints:
    lowered = [sentence[:MAX_CHARACTERS].lower()[:MAX_CHARACTERS] for sentence in sentences]
    blob = "".join(lowered).encode("utf-32-le", "surrogatepass")
    ends = np.cumsum(np.fromiter(map(len, lowered), np.int64, len(lowered)))
    return CodePoints(np.frombuffer(blob, np.uint32), ends)


@cache
def letter_kinds() -> NDArray[np.uint8]:
    """The kind of every code point; marks count as letters, since Indic vowels are marks."""
    kinds = np.zeros(0x110000, np.uint8)
    letters = np.array([unicodedata.category(chr(point))[0] in "LM" for point in range(0x10000)])
    kinds[:0x10000][letters] = UNKNOWN
    for first, last in _SCRIPTS:
        kinds[first : last + 1][letters[first : last + 1]] = _LETTER
    for first, last in ((0x0000, 0x036F), (0x1AB0, 0x1AFF), (0x1D00, 0x1EFF), (0x2C60, 0x2C7F), (0xFB00, 0xFB06)):
        kinds[first : last + 1][letters[first : last + 1]] = _LATIN
    kinds[0x2E80:0x3130] = np.where(kinds[0x2E80:0x3130] > 0, _IDEOGRAPH, _BREAK)  # radicals, kana
    kinds[0x3400:0xA000] = _IDEOGRAPH
    kinds[0xF900:0xFB00] = _IDEOGRAPH
    kinds[0x20000:0x32000] = _IDEOGRAPH
    return kinds


@numba.njit(cache=True, nogil=True)
def _mix(value: np.uint64) -> np.uint64:
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(29)
    return value


@numba.njit(cache=True, nogil=True)
def hash_features(points, begin, end, kinds, out):  # type: ignore[no-untyped-def]
    """Write the buckets of one sentence into `out`; returns their number, -1 if most letters are of unknown scripts."""
    words = np.empty((MAX_WORDS, 2), np.int64)
    found = find_words(points, begin, end, kinds, words)
    count = min(found, 0)
    for word in range(found):
        count = hash_word(points, words[word, 0], words[word, 1], out, count)
    return count


@numba.njit(cache=True, nogil=True)
def find_words(points, begin, end, kinds, out):  # type: ignore[no-untyped-def]
    """Write where the words of one sentence begin and end; returns their number, -1 if most letters are of unknown
    scripts.

    Latin words are left out of a sentence in another script, and what looks like code of any: they tell nothing.
    """
    unknown = latin = letters = ideographs = 0
    for i in range(begin, end):
        kind = kinds[points[i]]
        unknown += kind == UNKNOWN
        latin += kind == _LATIN
        letters += kind == _LETTER
        ideographs += kind == _IDEOGRAPH
    others = letters + _IDEOGRAPH_LETTERS * ideographs
    if unknown > latin + others:
        return -1
    least = _LETTER if _LATIN_FOR_ANOTHER * others > latin else _LATIN
    count = 0
    i = begin
    while i < end:
        if kinds[points[i]] < least:
            i += 1
            continue
        first = i
        while i < end and kinds[points[i]] >= least:
            i += 1
        between_spaces = (first == begin or points[first - 1] == _SPACE) and (i == end or points[i] == _SPACE)
        if not between_spaces and kinds[points[first]] == _LATIN and _in_code(points, first - 1, i, begin, end, kinds):
            continue
        out[count, 0], out[count, 1] = first, i
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _in_code(points, before, behind, begin, end, kinds):  # type: ignore[no-untyped-def]
    """Whether a word touches a sign of paths, names of variables, versions and the like."""
    for position, beyond in ((before, before - 1), (behind, behind + 1)):
        if begin <= position < end:
            sign = points[position]
            if sign == 0x2E or sign == 0x3A:  # a full stop or colon inside, as in `os.path`
                if begin <= beyond < end and kinds[points[beyond]] != _BREAK:
                    return True
            elif 0x30 <= sign <= 0x39 or sign in _SIGNS_OF_CODE:
                return True
    return False


@numba.njit(cache=True, nogil=True)
def word_key(points, first, last):  # type: ignore[no-untyped-def]
    """A hash of all 64 bits, which tells words from each other."""
    key = np.uint64(last - first)
    for position in range(first, last):
        key = (key ^ np.uint64(points[position])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return _mix(key)


@numba.njit(cache=True, nogil=True)
def hash_word(points, first, last, out, count):  # type: ignore[no-untyped-def]
    """Letters, their scripts, n-grams of two to five with the word's edges as letters, and the word itself."""
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    shift = np.uint64(64 - BUCKETS_LOG2)
    for start in range(first - 1, last):
        value = np.uint64(0)
        for length in range(1, _LONGEST + 1):
            position = start + length - 1
            if position > last:
                break
            edge = position < first or position == last
            letter = np.uint64(1) if edge else np.uint64(points[position])
            value = (value + letter) * multiplier
            value ^= value >> np.uint64(31)
            if (length == 1 and edge) or count == len(out):
                continue
            out[count] = np.int64(_mix(value) >> shift)
            count += 1
    whole = np.uint64(7)
    for position in range(first, last):
        script = np.uint64(points[position])
        script >>= np.uint64(7) if script < np.uint64(0x2E80) else np.uint64(12)
        if count < len(out):
            out[count] = np.int64(_mix((script + np.uint64(1 << 40)) * multiplier) >> shift)
            count += 1
        whole = (whole + np.uint64(points[position])) * multiplier
        whole ^= whole >> np.uint64(31)
    if count < len(out):
        out[count] = np.int64(_mix(whole) >> shift)
        count += 1
    return count
