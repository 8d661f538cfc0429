"""How many texts have a word, counted in parts and joined: what weighs the words of texts that come in groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.scoring.words import Words, inverse_frequency


class WordFrequencies(NamedTuple):
    """Words by their hashes, in increasing order."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]  # of texts that have the word
    texts: int

    @classmethod
    def of(cls, words: Words) -> WordFrequencies:
        order = np.argsort(words.hashes)
        return cls(words.hashes[order], words.frequency()[order], len(words))

    @classmethod
    def united(cls, parts: Iterable[WordFrequencies]) -> WordFrequencies:
        """Of the texts of all parts; in any order and grouping it is the same."""
        given = list(parts)
        every = np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in given)])
        hashes, places = np.unique(every, return_inverse=True)
        counts = np.zeros(len(hashes), np.int64)
        np.add.at(counts, places, np.concatenate([np.empty(0, np.int64), *(part.counts for part in given)]))
        return cls(hashes, counts, sum(part.texts for part in given))

    def idf(self, hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
        """The inverse document frequency of some words, known or not."""
        places = np.minimum(np.searchsorted(self.hashes, hashes), max(len(self.hashes) - 1, 0))
        known = self.hashes[places] == hashes if len(self.hashes) else np.zeros(len(hashes), bool)
        counts = np.zeros(len(hashes), np.int64)
        counts[known] = self.counts[places[known]]
        return inverse_frequency(counts, self.texts)
