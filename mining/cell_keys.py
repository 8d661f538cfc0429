"""Cells near each other make a key: what one worker holds."""

from __future__ import annotations

import numpy as np

from mining.codebook import Codebook, train_codebook
from mining.threads import Threads

KEY_BYTES = 256 << 20
_TOGETHER = 4  # cells, and groups of them, that stay together


def group_cells(codebook: Codebook, bytes_of_cells: np.ndarray, budget: int, pool: Threads) -> np.ndarray:
    """The key of each cell: runs of cells that lie near each other, whose vectors take at most `budget` bytes."""
    order = _path(codebook.centroids, pool)
    keys = np.empty(len(order), np.int32)
    key, filled = 0, 0
    for cell in order.tolist():
        if filled and filled + int(bytes_of_cells[cell]) > budget:
            key, filled = key + 1, 0
        keys[cell] = key
        filled += int(bytes_of_cells[cell])
    return keys


def _path(centroids: np.ndarray, pool: Threads) -> np.ndarray:
    """An order of the centroids in which neighbours are near: by groups of a few, which come in such an order, too."""
    if len(centroids) <= 2 * _TOGETHER:
        return np.argsort(centroids @ longest_direction(centroids), kind="stable")
    groups = train_codebook(centroids, len(centroids) // _TOGETHER, pool)
    ranks = np.argsort(_path(groups.centroids, pool))
    return np.argsort(ranks[groups.nearest(centroids, 1, pool)[:, 0]], kind="stable")


def longest_direction(sample: np.ndarray) -> np.ndarray:
    """The first principal direction."""
    return np.linalg.svd(sample - sample.mean(0), full_matrices=False)[2][0]
