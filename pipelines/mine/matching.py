"""Greedy one-to-one matching of edges, for one worker; `match_rounds` spreads it over many."""

from __future__ import annotations

import numpy as np

from mining.retrieval import greedy_matching
from pipelines.mine.edges import best_first


def is_best_at(edges: np.ndarray, end: str) -> np.ndarray:
    """Which edges come first, in greedy order, among those with the same source or target."""
    order = np.lexsort((edges["target"], edges["source"], -edges["score"], edges[end]))
    ids = edges[end][order]
    best = np.zeros(len(edges), bool)
    best[order] = np.concatenate([[True], ids[1:] != ids[:-1]])[: len(ids)]
    return best


def greedy(edges: np.ndarray) -> np.ndarray:
    """The greedy matching of all edges at once, best first."""
    ordered = best_first(edges)
    sources, targets = (np.unique(ordered[end], return_inverse=True) for end in ("source", "target"))
    return ordered[greedy_matching(sources[1], targets[1], len(sources[0]), len(targets[0]))]
