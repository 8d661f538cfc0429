"""Scores as counts of their different values: exact, mergeable, and all that a threshold needs of any number of pairs.

Margins are float32 numbers around 1, of which there are some 16 million, so that counts stay small where pairs do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ScoreCounts(NamedTuple):
    """Different scores, highest first, and how many pairs have each."""

    values: NDArray[np.floating]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: ArrayLike) -> ScoreCounts:
        values, counts = np.unique(np.asarray(scores), return_counts=True)
        return cls(values[::-1], counts[::-1].astype(np.int64))

    @classmethod
    def none(cls) -> ScoreCounts:
        return cls(np.empty(0, np.float32), np.empty(0, np.int64))

    @classmethod
    def united(cls, parts: Iterable[ScoreCounts]) -> ScoreCounts:
        """All scores of the parts; in any order and grouping it is the same."""
        filled = [part for part in parts if len(part.values)]
        if len(filled) < 2:
            return filled[0] if filled else cls.none()
        if all(better.values[-1] > worse.values[0] for better, worse in pairwise(filled)):  # as bands of scores are
            return cls(*(np.concatenate(column) for column in zip(*filled, strict=True)))
        values, places = np.unique(np.concatenate([part.values for part in filled]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.concatenate([part.counts for part in filled]))
        return cls(values[::-1], counts[::-1])

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def kept(self) -> NDArray[np.int64]:
        """How many score at least as much as each value."""
        return np.cumsum(self.counts)

    def at_least(self, threshold: float) -> int:
        return int(self.counts[self.values >= threshold].sum())

    def at(self, ranks: ArrayLike) -> NDArray[np.floating]:
        """The scores at some ranks, of which the best is 0."""
        return self.values[np.searchsorted(self.kept, ranks, side="right")]

    def quantile(self, share: float) -> float:
        """As `np.quantile` of all scores in double precision, to the last bit."""
        place = share * (self.total - 1)
        lower = int(np.floor(place))
        above = min(lower + 1, self.total - 1)
        low, high = self.at(self.total - 1 - np.array([lower, above])).astype(np.float64).tolist()
        part = place - lower
        return float(high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part)

    def histogram(self, edges: NDArray[np.float64]) -> NDArray[np.int64]:
        """As `np.histogram` of all scores with these edges."""
        counted = np.histogram(self.values.astype(np.float64), edges, weights=self.counts.astype(np.float64))[0]
        return np.rint(counted).astype(np.int64)
