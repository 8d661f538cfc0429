"""Given pairs among candidates: the pairs of a bitext as edges, with the rivals that their graph finds."""

from __future__ import annotations

import numpy as np

from mining.neighbours import KnnGraph, Neighbours
from mining.retrieval import Edges
from mining.top_k import MISSING


def with_rivals(graph: KnnGraph, source: np.ndarray, target: np.ndarray) -> tuple[Edges, np.ndarray]:
    """The pairs (i, i) and the nearest other sentence of each of their ends; the mask says which were given.

    `source` and `target` are unit vectors, a row for each pair.
    """
    rows = np.arange(len(source))
    forward = _nearest_other(graph.forward)
    backward = _nearest_other(graph.backward)
    left = np.concatenate([rows, forward[0], backward[1]])
    right = np.concatenate([rows, forward[1], backward[0]])
    cosines = np.concatenate([np.einsum("ij,ij->i", source, target), forward[2], backward[2]]).astype(np.float32)
    _, first = np.unique(left * max(len(rows), 1) + right, return_index=True)
    first.sort()
    given = np.arange(len(left)) < len(rows)
    edges = Edges(left, right, cosines, cosines, np.zeros(len(left), np.uint8)).take(first)
    return edges, given[first]


def _nearest_other(neighbours: Neighbours) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, nearest neighbour that is not the row's own partner, and cosine."""
    rows = np.arange(len(neighbours.ids))
    other = (neighbours.ids != rows[:, None]) & (neighbours.ids != MISSING)
    place = np.argmax(other, axis=1)
    there = other[rows, place]
    rows, place = rows[there], place[there]
    return rows, neighbours.ids[rows, place], neighbours.scores[rows, place]
