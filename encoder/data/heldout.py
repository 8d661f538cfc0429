"""Pairs held back to measure retrieval, and kept out of training together with everything that repeats them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from encoder.data.permutation import permute
from encoder.data.store import Store

_MOST = 0.05  # of a source, at most


class HeldOut(NamedTuple):
    """Held-out pairs, and what no training pair may share with them."""

    pairs: np.ndarray  # (n, 3) int64, see PairSource
    texts: np.ndarray  # sorted int64 hashes
    groups: np.ndarray  # sorted int64

    def repeated_by(self, pairs: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """(n,) bool: which of `pairs` is held out, or repeats a sentence or a group that is. `texts` is the store's.

        Checked when pairs are drawn, not beforehand: a filtered copy of the pairs might not fit in memory.
        """
        if not len(self.pairs):
            return np.zeros(len(pairs), bool)
        return np.isin(pairs[:, 2], self.groups) | np.isin(texts[pairs[:, :2]], self.texts).any(axis=1)


def hold_out(store: Store, wanted: int) -> HeldOut:
    """`wanted` pairs spread evenly over the sources; the same ones for every seed and model."""
    shares = _shares([int(len(source.pairs) * _MOST) for source in store.sources], wanted)
    parts = [
        source.pairs[permute(np.arange(share), len(source.pairs), number)]
        for number, (source, share) in enumerate(zip(store.sources, shares, strict=True))
    ]
    pairs = np.concatenate(parts)
    return HeldOut(pairs, np.unique(store.texts[pairs[:, :2]]), np.unique(pairs[:, 2]))


def _shares(limits: Sequence[int], wanted: int) -> list[int]:
    """At most `limits`, equal otherwise, `wanted` in sum where possible."""
    shares = [0] * len(limits)
    left = wanted
    for done, number in enumerate(np.argsort(limits, kind="stable")):
        shares[number] = min(limits[number], left // (len(limits) - done))
        left -= shares[number]
    return shares
