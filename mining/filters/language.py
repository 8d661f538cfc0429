"""Sentences that are not in their language."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.pair_filter import PairFilter, TextPairs, base_language
from mining.language_id import LIKELY, is_known, language_probabilities


class LanguageFilter(PairFilter):
    """The probability that each side is in its language, or in one that cannot be told from it.

    A language the model does not know is not judged.
    """

    reason: ClassVar[str] = "language"
    min_confidence: float = Field(
        default=LIKELY, ge=0.0, le=1.0, description="Least probability that a side is in its language."
    )

    def score(self, pairs: TextPairs) -> NDArray[np.float64]:
        """(n, 2): the probability of the source's and of the target's language."""
        return np.stack([_probabilities(text, base_language(language)) for text, language in pairs.sides()], axis=1)

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return np.all(scores >= self.min_confidence, axis=1)


def _probabilities(text: pa.Array, language: str | None) -> NDArray[np.float64]:
    if language is None or not is_known(language):
        return np.ones(len(text))
    return language_probabilities(text.to_pylist(), language)
