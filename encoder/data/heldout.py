"""Pairs held back to measure retrieval, and kept out of training together with everything that repeats them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from encoder.data.permutation import permute
from encoder.data.store import PairSource, Store

MOST_HELD_OUT = 0.05  # of a source, at most
_PARTS = 10_000  # the share of sentences to hold out is rounded to one of this many
_NONE = np.zeros((0, 3), np.int64)


class HeldOut(NamedTuple):
    """Held-out pairs, and what no training pair may share with them."""

    pairs: np.ndarray  # (n, 3) int64, see PairSource
    texts: np.ndarray  # sorted int64 hashes
    groups: np.ndarray  # sorted int64

    def repeated_by(self, sentences: np.ndarray, groups: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """(n,) bool: which examples of (n, k) sentences and (n, m) groups repeat a text or a group that is held out.

        `texts` is the store's. Checked when examples are drawn: a copy filtered beforehand might not fit in memory.
        """
        if not len(self.texts):
            return np.zeros(len(sentences), bool)
        known = _among(groups, self.groups).any(axis=1) | _among(texts[sentences], self.texts).any(axis=1)
        return np.asarray(known)


def _among(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """`np.isin`, which would sort again what is in order already, for every pool that is drawn."""
    return ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values


def hold_out(store: Store, wanted: int, share: float = 0.0) -> HeldOut:
    """`wanted` pairs spread evenly over the sources; the same ones for every seed and model.

    With `share` they are some of those of `held_pairs`, none of which is trained on.
    """
    if share:
        apart = held_pairs(store, share)
        limits = [len(pairs) for pairs in apart]
    else:
        apart = [source.pairs for source in store.sources]
        limits = [int(len(pairs) * MOST_HELD_OUT) for pairs in apart]
    counts = shares(limits, wanted)
    parts = [
        pairs[permute(np.arange(count), len(pairs), number)]
        for number, (pairs, count) in enumerate(zip(apart, counts, strict=True))
    ]
    pairs = np.concatenate([_NONE, *parts])
    unseen = np.concatenate([_NONE, *apart]) if share else pairs
    return HeldOut(pairs, np.unique(store.texts[unseen[:, :2]]), np.unique(unseen[:, 2]))


def held_pairs(store: Store, share: float) -> list[np.ndarray]:
    """Of each source, the pairs of that share of all English sentences, chosen by their text.

    They are the same in every language, so that there are pairs of any two, and no more groups are lost than for one.
    """
    return [source.pairs[_chosen(store, source, share)] for source in store.sources]


def _chosen(store: Store, source: PairSource, share: float) -> np.ndarray:
    if "en" not in source.langs or not len(source.pairs):
        return np.zeros(0, np.int64)
    english = source.pairs[:, source.langs.index("en")]
    return np.flatnonzero(store.texts[english].view(np.uint64) % np.uint64(_PARTS) < round(share * _PARTS))


def shares(limits: Sequence[int], wanted: int) -> list[int]:
    """At most `limits`, equal otherwise, `wanted` in sum where possible."""
    parts = [0] * len(limits)
    left = wanted
    for done, number in enumerate(np.argsort(limits, kind="stable")):
        parts[number] = min(limits[number], left // (len(limits) - done))
        left -= parts[number]
    return parts
