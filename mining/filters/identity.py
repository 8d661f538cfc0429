"""Pairs whose sides are the same text, or nearly: boilerplate and untranslated sentences."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.pair_filter import PairFilter, TextPairs


class IdentityFilter(PairFilter):
    """1 - normalized edit distance (Levenshtein over the longer length) of the lower-cased sides."""

    reason: ClassVar[str] = "identical"
    max_similarity: float = Field(default=0.8, ge=0.0, le=1.0, description="Sides that are more similar are copies.")

    def score(self, pairs: TextPairs) -> NDArray[np.float32]:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        source, target = (pc.utf8_lower(pc.utf8_trim_whitespace(text)).to_pylist() for text, _ in pairs.sides())
        # Below the cutoff the score is reported as 0, which spares most of the work.
        return cpdist(
            source,
            target,
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=self.max_similarity,
            dtype=np.float32,
        )

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return scores <= np.float32(self.max_similarity)
