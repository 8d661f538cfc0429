"""Vectors in, pairs out: vector files, kNN graphs, margins, matching, thresholds, filters and pair files.

>>> from mining import from_array, knn_graph, retrieve
>>> pairs = retrieve(knn_graph(from_array(x), from_array(y), k=4))
>>> pairs.source, pairs.target, pairs.scores
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mining.errors import InputError
    from mining.knn import knn_graph
    from mining.margin import Margin, margin_scores
    from mining.neighbours import Graph, Neighbours, merge
    from mining.retrieval import Edges, Retrieval, candidates, retrieve
    from mining.vectors import Vectors, from_array, open_vectors, write_vectors

__all__ = [
    "Edges",
    "Graph",
    "InputError",
    "Margin",
    "Neighbours",
    "Retrieval",
    "Vectors",
    "candidates",
    "from_array",
    "knn_graph",
    "margin_scores",
    "merge",
    "open_vectors",
    "retrieve",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    # torch and numba take seconds to import, and `mining.errors` alone does not need them
    for module in ("errors", "graph", "knn", "margin", "retrieval", "vectors"):
        if name in __all__ and hasattr(found := import_module(f"mining.{module}"), name):
            return getattr(found, name)
    raise AttributeError(f"module 'mining' has no attribute {name!r}")
