"""What can be seen without knowing the words: lengths, numbers, punctuation, capitals, code, copied words."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import NamedTuple

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mining.filters.characters import count_characters
from mining.scoring.words import Words, decode, hash_text
from mining.threads import Threads
from mining.utf8_columns import utf8_content

_COUNTED = (
    *(r"\p{L}", r"\p{Lu}", r"\p{Nd}", r"\p{Latin}", r"[?？؟;]", r"[!！]", r"[:：]"),
    *(r"[,，、،]", r"[.。।]", "[\"'«»“”„‘’「」『』]", r"[(){}\[\]（）]", r"[-–—/]"),
)
_PUNCTUATION = ("question marks", "exclamation marks", "colons", "commas", "full stops", "quotes", "brackets", "dashes")
NAMES = (
    "length ratio",
    "word ratio",
    "source length",
    "target length",
    *(f"{name} difference" for name in _PUNCTUATION),
    "capitals difference",
    "digits difference",
    "same ending",
    "numbers matched",
    "numbers source only",
    "numbers target only",
    "codes matched",
    "codes source only",
    "codes target only",
    "source copied",
    "target copied",
    "source foreign missing",
    "target foreign missing",
)
CONTRASTED = (0, 16, 17, 22, 23)  # of NAMES: those that are compared with rivals
_MOSTLY_LATIN = 0.75  # of the letters; below, Latin words are foreign ones
_SENTENCE_END, _QUESTION, _EXCLAMATION, _COLON = 1, 2, 3, 4
_ENDINGS = {".。।．": _SENTENCE_END, "?？؟": _QUESTION, "!！": _EXCLAMATION, ":：": _COLON}


class Surface(NamedTuple):
    """The surface of one side's texts; numbers and codes are hashes, `numbers[offsets[t]:offsets[t + 1]]`."""

    counts: NDArray[np.float32]  # (texts, 12) of the classes above
    characters: NDArray[np.float32]
    endings: NDArray[np.int8]
    words: Words
    weights: NDArray[np.float32]  # (vocabulary,)
    latin: NDArray[np.bool_]  # (vocabulary,) words in ASCII letters and digits
    numbers: NDArray[np.uint64]
    number_offsets: NDArray[np.int64]
    codes: NDArray[np.uint64]
    code_offsets: NDArray[np.int64]


class LengthModel(NamedTuple):
    """Middle and spread of the log ratio of lengths, in characters and in words, of likely translations."""

    characters: tuple[float, float]
    words: tuple[float, float]

    @classmethod
    def of(cls, characters: NDArray[np.float32], words: NDArray[np.float32]) -> LengthModel:
        """By the log ratios of pairs."""
        return cls(_middle(characters), _middle(words))


class TextLengths(NamedTuple):
    """Characters and words of each text."""

    characters: NDArray[np.float32]
    words: NDArray[np.float32]


def read_surface(texts: pa.Array, words: Words, weights: NDArray[np.float32]) -> Surface:
    """Everything that concerns one text alone, once for each text."""
    counts = count_characters(texts, *_COUNTED)
    content, starts = utf8_content(texts)
    latin = np.zeros(len(words.hashes), bool)
    _is_ascii(*utf8_content(words.vocabulary), latin)
    endings = np.zeros(len(texts), np.int8)
    _endings(content, starts, _ending_kinds(), endings)
    return Surface(
        counts.kinds.astype(np.float32),
        counts.characters.astype(np.float32),
        endings,
        words,
        weights,
        latin,
        *_numbers(content, starts, _digit_values()),
        *_codes(content, starts, _code_signs()),
    )


def fit_lengths(source: Surface, target: Surface, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> LengthModel:
    """The length model of pairs most of which are translations; medians, so that others do no harm."""
    return LengthModel.of(*length_ratios(text_lengths(source), text_lengths(target), rows, columns))


def surface_features(
    source: Surface,
    target: Surface,
    lengths: LengthModel,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    threads: Threads,
) -> NDArray[np.float32]:
    """(pairs, `NAMES`); ratios of lengths are deviations from the length model, in its spreads.

    Foreign words are those in Latin letters in a text with many others: code and names, mostly copied.
    """
    out = np.empty((len(rows), len(NAMES)), np.float32)
    for place, (ratio, (middle, spread)) in enumerate(
        zip(length_ratios(text_lengths(source), text_lengths(target), rows, columns), lengths, strict=True)
    ):
        out[:, place] = (ratio - middle) / spread
    out[:, 2], out[:, 3] = np.log1p(source.characters[rows]), np.log1p(target.characters[columns])
    left, right = source.counts[rows], target.counts[columns]  # (pairs, classes)
    out[:, 4:12] = left[:, 4:] - right[:, 4:]
    shares = [side[:, (1, 2)] / np.maximum(side[:, :1] + side[:, 2:3], 1) for side in (left, right)]
    out[:, 12:14] = shares[0] - shares[1]
    out[:, 14] = source.endings[rows] == target.endings[columns]
    joint = _joint_words(source.words, target.words)
    foreign = [side.counts[:, 3] < _MOSTLY_LATIN * side.counts[:, 0] for side in (source, target)]

    def work(thread: int, start: int, stop: int) -> None:
        part = slice(start, stop)
        _common(source.numbers, source.number_offsets, target.numbers, target.number_offsets,
                rows[part], columns[part], out[part, 15:18])  # fmt: skip
        _common(source.codes, source.code_offsets, target.codes, target.code_offsets,
                rows[part], columns[part], out[part, 18:21])  # fmt: skip
        stamps = np.full(int(max(joint[0].max(initial=0), joint[1].max(initial=0))) + 1, -1, np.int64)
        sides = (
            (source, joint[0], rows, target, joint[1], columns, foreign[0], 0),
            (target, joint[1], columns, source, joint[0], rows, foreign[1], 1),
        )
        for side, number, ends, other, other_number, other_ends, is_foreign, place in sides:
            stamps.fill(-1)
            _copied(side.words.ids, side.words.offsets, number, side.weights, side.latin, is_foreign, ends[part],
                    other.words.ids, other.words.offsets, other_number, other_ends[part],
                    stamps, out[part, 21 + place], out[part, 23 + place])  # fmt: skip

    threads.over_rows(len(rows), work)
    return out


def text_lengths(side: Surface) -> TextLengths:
    return TextLengths(side.characters, side.words.lengths.astype(np.float32))


def count_lengths(texts: pa.Array, words: Words) -> TextLengths:
    """Of texts of which nothing else need be known."""
    characters = count_characters(texts).characters
    return TextLengths(characters.astype(np.float32), words.lengths.astype(np.float32))


def length_ratios(
    source: TextLengths, target: TextLengths, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The log ratios of pairs of texts, in characters and in words."""
    characters, words = (
        np.log((left[rows] + 1) / (right[columns] + 1)) for left, right in zip(source, target, strict=True)
    )
    return characters, words


def _middle(ratios: np.ndarray) -> tuple[float, float]:
    if not len(ratios):
        return 0.0, 0.4
    middle = float(np.median(ratios))
    return middle, max(1.4826 * float(np.median(np.abs(ratios - middle))), 0.05)


def _joint_words(source: Words, target: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One numbering for the words of both sides."""
    number = np.unique(np.concatenate([source.hashes, target.hashes]), return_inverse=True)[1].astype(np.int64)
    return number[: len(source.hashes)], number[len(source.hashes) :]


@cache
def _ending_kinds() -> NDArray[np.int8]:
    kinds = np.zeros(0x10000, np.int8)
    for characters, kind in _ENDINGS.items():
        kinds[[ord(character) for character in characters]] = kind
    return kinds


@cache
def _code_signs() -> NDArray[np.uint8]:
    signs = np.zeros(128, np.uint8)
    signs[[ord(character) for character in "$%{}<>_/\\@=|#&~^*"]] = 1
    return signs


@cache
def _digit_values() -> NDArray[np.int8]:
    values = np.full(0x40000, -1, np.int8)
    for code in range(min(len(values), sys.maxunicode)):
        values[code] = unicodedata.decimal(chr(code), -1)
    return values


@nb.njit(cache=True, nogil=True)
def _is_ascii(content: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    for row in range(len(starts) - 1):
        out[row] = True
        for at in range(starts[row], starts[row + 1]):
            if content[at] >= 0x80:
                out[row] = False


@nb.njit(cache=True, nogil=True)
def _endings(content: np.ndarray, starts: np.ndarray, kinds: np.ndarray, out: np.ndarray) -> None:
    """The kind of the last character that is not white space, a quote or a bracket."""
    for row in range(len(starts) - 1):
        at = starts[row + 1]
        for _ in range(4):
            at -= 1
            while at > starts[row] and content[at] & 0xC0 == 0x80:
                at -= 1
            if at < starts[row]:
                break
            code, _size = decode(content, at)
            if code < len(kinds) and kinds[code] != 0:
                out[row] = kinds[code]
                break
            if code < 0x80 and code not in (0x20, 0x22, 0x27, 0x29, 0x5D):
                break


@nb.njit(cache=True, nogil=True)
def _numbers(content: np.ndarray, starts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the numbers of each text: digits of every script, thousands separators ignored."""
    found = np.empty(max(len(content) // 2 + len(starts), 1), np.uint64)
    offsets = np.zeros(len(starts), np.int64)
    count = 0
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        key, digits = np.uint64(0), 0
        while at < end:
            code, size = decode(content, at)
            value = values[code] if code < len(values) else -1
            if value >= 0:
                if key or value:  # leading zeros do not count
                    key = key * np.uint64(31) + np.uint64(value + 1)
                digits += 1
            elif digits and not _thousands(content, at, size, end, code, values):
                found[count] = key
                count += 1
                key, digits = np.uint64(0), 0
            at += size
        if digits:
            found[count] = key
            count += 1
        offsets[row + 1] = count
    return found[:count].copy(), offsets


@nb.njit(cache=True, nogil=True)
def _thousands(content: np.ndarray, at: int, size: int, end: int, code: int, values: np.ndarray) -> bool:
    """Whether a character inside a number separates thousands: exactly three digits follow."""
    if code not in (0x2C, 0x2E, 0x27, 0x2019, 0x20, 0xA0, 0x2009, 0x202F):
        return False
    at += size
    for step in range(4):
        if at >= end:
            return step == 3
        following, width = decode(content, at)
        if following >= len(values) or values[following] < 0:
            return step == 3
        at += width
    return False


@nb.njit(cache=True, nogil=True)
def _codes(content: np.ndarray, starts: np.ndarray, code_signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of URLs, placeholders, paths, options and other ASCII runs with signs that no plain word has."""
    found = np.empty(max(len(content) // 2 + len(starts), 1), np.uint64)
    offsets = np.zeros(len(starts), np.int64)
    same = np.arange(128).astype(np.uint32)
    count = 0
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        while at < end:
            begin, signs = at, 0
            while at < end and 0x20 < content[at] < 0x80:
                c = content[at]
                signs += code_signs[c]
                at += 1
            stop = at
            at += 1
            if signs == 0:
                continue
            while stop > begin and content[stop - 1] in (0x2E, 0x2C, 0x3B, 0x3A, 0x21, 0x3F, 0x29, 0x22, 0x27):
                stop -= 1
            while begin < stop and content[begin] in (0x28, 0x22, 0x27):
                begin += 1
            if stop - begin > 1:
                found[count] = hash_text(content, begin, stop, same)
                count += 1
        offsets[row + 1] = count
    return found[:count].copy(), offsets


@nb.njit(cache=True, nogil=True)
def _common(
    left: np.ndarray,
    left_offsets: np.ndarray,
    right: np.ndarray,
    right_offsets: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
) -> None:
    """How many items both texts have, how many only the source, how many only the target; repetitions count."""
    taken = np.zeros(64, np.bool_)
    for pair in range(len(rows)):
        first, last = left_offsets[rows[pair]], left_offsets[rows[pair] + 1]
        start, end = right_offsets[columns[pair]], right_offsets[columns[pair] + 1]
        n, m = min(last - first, 64), min(end - start, 64)
        taken[:m] = False
        both = 0
        for i in range(n):
            for j in range(m):
                if not taken[j] and left[first + i] == right[start + j]:
                    taken[j] = True
                    both += 1
                    break
        out[pair, 0], out[pair, 1], out[pair, 2] = both, n - both, m - both


@nb.njit(cache=True, nogil=True)
def _copied(
    ids: np.ndarray,
    offsets: np.ndarray,
    number: np.ndarray,
    weights: np.ndarray,
    latin: np.ndarray,
    foreign: np.ndarray,
    rows: np.ndarray,
    other_ids: np.ndarray,
    other_offsets: np.ndarray,
    other_number: np.ndarray,
    other_rows: np.ndarray,
    stamps: np.ndarray,
    copied: np.ndarray,
    missing: np.ndarray,
) -> None:
    """Weighted share of a text's words that the other text has too, and how many foreign ones it has not."""
    for pair in range(len(rows)):
        for place in range(other_offsets[other_rows[pair]], other_offsets[other_rows[pair] + 1]):
            stamps[other_number[other_ids[place]]] = pair
        total, both, absent = 1e-6, 0.0, 0
        for place in range(offsets[rows[pair]], offsets[rows[pair] + 1]):
            word = ids[place]
            total += weights[word]
            if stamps[number[word]] == pair:
                both += weights[word]
            elif foreign[rows[pair]] and latin[word]:
                absent += 1
        copied[pair], missing[pair] = both / total, absent
