"""Sentences too short or too long, and pairs of too different length."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.characters import count_characters
from mining.filters.pair_filter import PairFilter, TextPairs, base_language

# Languages written in characters that stand for syllables or words, and how many letters one is worth.
DENSE = {"zh": 3.0, "yue": 3.0, "wuu": 3.0, "ja": 2.3, "ko": 2.0}
DENSE_LETTERS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"


class LengthFilter(PairFilter):
    """Bounds on characters and on space-separated words of each side."""

    reason: ClassVar[str] = "length"
    min_chars: int = Field(default=3, ge=0, description="Fewest characters of a side.")
    max_chars: int = Field(default=1000, ge=1, description="Most characters of a side.")
    min_words: int = Field(default=1, ge=0, description="Fewest words of a side.")
    max_words: int = Field(default=150, ge=1, description="Most words of a side.")

    def score(self, pairs: TextPairs) -> NDArray[np.int64]:
        """(n, 4): characters and words of the source, then of the target."""
        sides = [count_characters(text) for text, _ in pairs.sides()]
        return np.stack([column for side in sides for column in (side.characters, side.words)], axis=1)

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        lowest = np.array([self.min_chars, self.min_words] * 2)
        highest = np.array([self.max_chars, self.max_words] * 2)
        return np.all((scores >= lowest) & (scores <= highest), axis=1)


class LengthRatioFilter(PairFilter):
    """The longer side over the shorter, in characters, a constant added to both.

    The constant spares short sentences, whose ratio says little. A Chinese, Japanese or Korean character counts as the
    two or three letters it replaces.
    """

    reason: ClassVar[str] = "length_ratio"
    max_ratio: float = Field(default=2.0, ge=1.0, description="Largest ratio of the lengths.")
    constant: float = Field(default=15.0, ge=0.0, description="Characters added to both sides first.")

    def score(self, pairs: TextPairs) -> NDArray[np.float64]:
        source, target = (_weight(text, language) + self.constant for text, language in pairs.sides())
        return np.maximum(source, target) / np.maximum(np.minimum(source, target), 1e-9)

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return scores <= self.max_ratio


def _weight(text: pa.Array, language: str | None) -> NDArray[np.float64]:
    worth = DENSE.get(base_language(language) or "")
    if worth is None:
        return pc.utf8_length(text).to_numpy(zero_copy_only=False).astype(np.float64)
    counts = count_characters(text, DENSE_LETTERS)
    return counts.characters + (worth - 1) * counts.kinds[:, 0]
