"""Which of many texts normalisation may change, in one compiled pass: most are plain and stay as they are."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

import numba as nb
import numpy as np
import pyarrow as pa

from mining.utf8_columns import utf8_content

_LAST = 0x10000
_SPACE = 0x20
# Letters that compose with those before them, and Hebrew and Arabic, whose marks may be taken off.
_CHANGING = (range(0x0590, 0x0700), range(0x1100, 0x1200), range(0xA960, 0xA980), range(0xD7B0, 0xE000))


def special_rows(texts: Sequence[str]) -> np.ndarray:
    """The numbers of all texts but plain ones; UnicodeEncodeError or TypeError where one is no text.

    Plain ones have letters, figures and signs that Unicode's normal forms keep, no marks, and single spaces inside.
    """
    return _special(*utf8_content(pa.array(texts, pa.large_string())), plain_characters())


@cache
def plain_characters() -> np.ndarray:
    """(code points,) bool"""
    changing = {code for codes in _CHANGING for code in codes}
    plain = (
        code not in changing
        and unicodedata.category(chr(code))[0] in "LNPS"
        and unicodedata.is_normalized("NFKC", chr(code))
        for code in range(_LAST)
    )
    return np.fromiter(plain, np.bool_, _LAST)


@nb.njit(cache=True, nogil=True)
def _special(content: np.ndarray, starts: np.ndarray, plain: np.ndarray) -> np.ndarray:
    rows, count = np.empty(len(starts) - 1, np.int64), 0
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        after_space, is_plain = True, True
        while at < end and is_plain:
            code = np.int64(content[at])
            size = 1
            if code >= 0x80:
                size = 2 if code < 0xE0 else 3 if code < 0xF0 else 4
                code &= 0x7F >> size
                for step in range(1, size):
                    code = code << 6 | np.int64(content[at + step] & 0x3F)
            at += size
            if code == _SPACE:
                is_plain, after_space = not after_space, True
            else:
                is_plain, after_space = bool(code < _LAST and plain[code]), False
        if not is_plain or after_space:
            rows[count] = row
            count += 1
    return rows[:count].copy()
