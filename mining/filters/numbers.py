"""Pairs whose numbers differ: the same sentence about another year, article or amount."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.characters import count_characters
from mining.filters.pair_filter import PairFilter, TextPairs

# 1,000 and 1.000 and 1 000 (with any of four spaces) and 1'000 are one number.
_NUMBER = re.compile("[0-9]+(?:[.,'\u2019 \u00a0\u2009\u202f][0-9]{3}(?![0-9]))*")
_SEPARATORS = str.maketrans("", "", ".,'\u2019 \u00a0\u2009\u202f")
_SPELLED_OUT = 12


class NumberFilter(PairFilter):
    """Share of the numbers of both sides that have a partner on the other side.

    Digits of every script are equal, thousands separators are ignored. A number up to twelve that one side lacks
    may be spelled out there and is forgiven, unless both sides have numbers left over.
    """

    reason: ClassVar[str] = "numbers"
    min_overlap: float = Field(default=0.6, ge=0.0, le=1.0, description="Least share of numbers with a partner.")

    def score(self, pairs: TextPairs) -> NDArray[np.float64]:
        scores = np.ones(len(pairs.src))
        counts = [count_characters(text, r"\p{Nd}", "[0-9]").kinds for text, _ in pairs.sides()]
        digits, ascii_digits = (counts[0] + counts[1]).T
        rows = np.flatnonzero(digits)
        chosen, others = pairs.take(rows), digits[rows] > ascii_digits[rows]
        for row, *texts, other in zip(rows, chosen.src.to_pylist(), chosen.tgt.to_pylist(), others, strict=True):
            scores[row] = _overlap(*(_numbers(text.translate(_ascii_digits()) if other else text) for text in texts))
        return scores

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return scores >= self.min_overlap


def _overlap(source: list[str], target: list[str]) -> float:
    if source == target:
        return 1.0
    return _share(Counter(source), Counter(target))


def _share(source: Counter[str], target: Counter[str]) -> float:
    common = (source & target).total()
    left, right = source - target, target - source
    if not left or not right:
        left, right = (Counter({n: c for n, c in side.items() if int(n) > _SPELLED_OUT}) for side in (left, right))
    missing = left.total() + right.total()
    return 2 * common / (2 * common + missing) if missing else 1.0


def _numbers(text: str) -> list[str]:
    found = _NUMBER.findall(text)
    plain = (number if number.isdigit() else number.translate(_SEPARATORS) for number in found)
    # A run of thousands of digits is no number, and Python refuses to convert it.
    return [number.lstrip("0")[:100] or "0" for number in plain]


@cache
def _ascii_digits() -> dict[int, str]:
    characters = ((code, unicodedata.decimal(chr(code), None)) for code in range(128, sys.maxunicode + 1))
    return {code: str(value) for code, value in characters if value is not None}
