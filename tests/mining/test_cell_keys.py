"""Cells of a key lie near each other and fit its budget."""

import numpy as np

from mining.cell_keys import group_cells
from mining.codebook import Codebook


def test_keys_fit_their_budget_and_hold_neighbours() -> None:
    angles = np.linspace(0, np.pi, 40)
    centroids = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    order = np.random.default_rng(0).permutation(40)
    keys = group_cells(Codebook(centroids[order]), np.full(40, 10), budget=100)
    assert np.bincount(keys).max() <= 10
    assert keys.max() < 8
    for key in range(keys.max() + 1):
        places = np.sort(order[keys == key])
        assert places[-1] - places[0] <= 20, "cells of a key lie in one half of the arc"
    assert group_cells(Codebook(centroids), np.full(40, 1000), budget=100).tolist() != [0] * 40
