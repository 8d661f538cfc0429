"""Cells near each other make a key: what one worker holds."""

from __future__ import annotations

import numpy as np

from mining.codebook import Codebook

KEY_BYTES = 256 << 20


def group_cells(codebook: Codebook, bytes_of_cells: np.ndarray, budget: int) -> np.ndarray:
    """The key of each cell: runs of cells that lie near each other, whose vectors take at most `budget` bytes."""
    order = _path(codebook.centroids)
    keys = np.empty(len(order), np.int32)
    key, filled = 0, 0
    for cell in order.tolist():
        if filled and filled + int(bytes_of_cells[cell]) > budget:
            key, filled = key + 1, 0
        keys[cell] = key
        filled += int(bytes_of_cells[cell])
    return keys


def _path(centroids: np.ndarray) -> np.ndarray:
    """An order of the centroids in which neighbours are near: halves of halves along their longest directions."""
    order = np.arange(len(centroids))
    pending, done = [order], []
    while pending:
        part = pending.pop()
        if len(part) <= 4:
            done.append(part)
            continue
        along = centroids[part] @ longest_direction(centroids[part[:: -(-len(part) // 1000)]])
        ranked = part[np.argsort(along, kind="stable")]
        pending += [ranked[len(part) // 2 :], ranked[: len(part) // 2]]
    return np.concatenate(done)


def longest_direction(sample: np.ndarray) -> np.ndarray:
    """The first principal direction."""
    return np.linalg.svd(sample - sample.mean(0), full_matrices=False)[2][0]
