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

    def repeated_by(self, sentences: np.ndarray, groups: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """(n,) bool: which examples of (n, k) sentences and (n, m) groups repeat a text or a group that is held out.

        `texts` is the store's. Checked when examples are drawn: a copy filtered beforehand might not fit in memory.
        """
        if not len(self.pairs):
            return np.zeros(len(sentences), bool)
        known = np.isin(groups, self.groups).any(axis=1) | np.isin(texts[sentences], self.texts).any(axis=1)
        return np.asarray(known)


def hold_out(store: Store, wanted: int) -> HeldOut:
    """`wanted` pairs spread evenly over the sources; the same ones for every seed and model."""
    shares = _shares([int(len(source.pairs) * _MOST) for source in store.sources], wanted)
    parts = [
        source.pairs[permute(np.arange(share), len(source.pairs), number)]
        for number, (source, share) in enumerate(zip(store.sources, shares, strict=True))
    ]
    pairs = np.concatenate([np.zeros((0, 3), np.int64), *parts])
    return HeldOut(pairs, np.unique(store.texts[pairs[:, :2]]), np.unique(pairs[:, 2]))


def _shares(limits: Sequence[int], wanted: int) -> list[int]:
    """At most `limits`, equal otherwise, `wanted` in sum where possible."""
    shares = [0] * len(limits)
    left = wanted
    for done, number in enumerate(np.argsort(limits, kind="stable")):
        shares[number] = min(limits[number], left // (len(limits) - done))
        left -= shares[number]
    return shares
