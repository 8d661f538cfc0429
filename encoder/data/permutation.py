"""Shuffled order without a shuffled array."""

from __future__ import annotations

import numpy as np

_ROUNDS = 4


def permute(position: np.ndarray, size: int, key: int) -> np.ndarray:
    """A pseudo-random permutation of range(size), evaluated only at `position`.

    A Feistel network over the next power of four, walked until the value falls inside: an epoch needs no memory, and
    any place in it can be resumed.
    """
    half = np.uint64(max(1, (max(size - 1, 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    keys = np.random.default_rng([key & 0xFFFFFFFFFFFFFFFF, size]).integers(0, 2**63, _ROUNDS, dtype=np.uint64)
    value = position.astype(np.uint64)
    outside = np.ones(len(value), bool)
    while outside.any():
        value[outside] = _feistel(value[outside], keys, half, mask)
        outside = value >= size
    return value.astype(np.int64)


def _feistel(value: np.ndarray, keys: np.ndarray, half: np.uint64, mask: np.uint64) -> np.ndarray:
    left, right = value >> half, value & mask
    for key in keys:
        scrambled = (right + key) * np.uint64(0x9E3779B97F4A7C15)
        scrambled = (scrambled ^ (scrambled >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((scrambled >> np.uint64(32)) & mask)
    return (left << half) | right
