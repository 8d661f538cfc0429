"""Targets that pair with many sources: hubs, which are near to everything and translate nothing."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.pair_filter import PairFilter, TextPairs


class RepeatedTargetFilter(PairFilter):
    """How many pairs before this one, in the order given, have the same target text.

    Pairs come best first, so the best are the ones that stay. `seen` carries the counts from batch to batch.
    """

    reason: ClassVar[str] = "repeated_target"
    max_pairs: int = Field(default=4, ge=1, description="Most pairs with the same target.")

    def score(self, pairs: TextPairs, seen: Counter[int] | None = None) -> NDArray[np.int64]:
        counts = Counter() if seen is None else seen
        ranks = np.empty(len(pairs.tgt), dtype=np.int64)
        for row, text in enumerate(pairs.tgt.to_pylist()):
            key = _key(text)
            ranks[row] = rank = counts.get(key, 0)
            counts[key] = rank + 1
        return ranks

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return scores < self.max_pairs


def _key(text: str) -> int:
    """Python's own hash of a string differs from process to process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
