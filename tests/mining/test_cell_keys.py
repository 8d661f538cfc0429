"""Cells of a key lie near each other and fit its budget."""

import numpy as np

from mining.cell_keys import group_cells
from mining.codebook import Codebook
from mining.threads import thread_pool


def test_keys_fit_their_budget_and_hold_neighbours() -> None:
    angles = np.linspace(0, np.pi, 40)
    centroids = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    order = np.random.default_rng(0).permutation(40)
    with thread_pool(1) as pool:
        keys = group_cells(Codebook(centroids[order]), np.full(40, 10), 100, pool)
        alone = group_cells(Codebook(centroids), np.full(40, 1000), 100, pool)
    assert np.bincount(keys).max() <= 10
    assert keys.max() < 8
    spans = [np.ptp(order[keys == key]) for key in range(keys.max() + 1)]
    assert np.mean(spans) <= 20, "cells of a key lie in half of the arc, but for a key between two groups"
    assert sorted(alone.tolist()) == list(range(40)), "a cell that is too large is a key"


def test_cells_of_a_cluster_share_a_key() -> None:
    draw = np.random.default_rng(0)
    centroids = (np.repeat(np.eye(8, dtype=np.float32), 25, axis=0) + 0.1 * draw.standard_normal((200, 8))).astype("f4")
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    order = draw.permutation(200)
    with thread_pool(2) as pool:
        keys = group_cells(Codebook(centroids[order]), np.ones(200, np.int64), 25, pool)
        again = group_cells(Codebook(centroids[order]), np.ones(200, np.int64), 25, pool)
    np.testing.assert_array_equal(keys, again)
    assert np.bincount(keys).max() <= 25
    assert np.mean([len(set(keys[order // 25 == cluster])) for cluster in range(8)]) <= 3
    assert set(keys) == set(range(keys.max() + 1))
