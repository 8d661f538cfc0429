"""Vectors in, pairs out: vector files, kNN graphs, margins, matching, alignment, thresholds, filters and pair files.

>>> from mining import from_array, knn_graph, retrieve
>>> pairs = retrieve(knn_graph(from_array(x), from_array(y), k=4))
>>> pairs.source, pairs.target, pairs.scores

The names here are the public ones; docs/how-to/python.md has an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mining.lazy import lazy_attributes

if TYPE_CHECKING:
    from mining.alignment import Alignment, align_sentences, document_of
    from mining.calibration import Calibration, calibrate
    from mining.errors import InputError
    from mining.knn import knn_graph
    from mining.margin import Margin, margin_scores
    from mining.neighbours import KnnGraph, Neighbours, merge
    from mining.retrieval import Edges, Retrieval, candidates, retrieve
    from mining.vectors import Vectors, from_array, open_vectors, write_vectors

    __version__: str

__all__ = [
    "Alignment",
    "Calibration",
    "Edges",
    "InputError",
    "KnnGraph",
    "Margin",
    "Neighbours",
    "Retrieval",
    "Vectors",
    "__version__",
    "align_sentences",
    "calibrate",
    "candidates",
    "document_of",
    "from_array",
    "knn_graph",
    "margin_scores",
    "merge",
    "open_vectors",
    "retrieve",
    "write_vectors",
]

__getattr__ = lazy_attributes(
    "mining",
    {
        **dict.fromkeys(["Alignment", "align_sentences", "document_of"], "mining.alignment"),
        **dict.fromkeys(["Calibration", "calibrate"], "mining.calibration"),
        **dict.fromkeys(["InputError"], "mining.errors"),
        **dict.fromkeys(["knn_graph"], "mining.knn"),
        **dict.fromkeys(["Margin", "margin_scores"], "mining.margin"),
        **dict.fromkeys(["KnnGraph", "Neighbours", "merge"], "mining.neighbours"),
        **dict.fromkeys(["Edges", "Retrieval", "candidates", "retrieve"], "mining.retrieval"),
        **dict.fromkeys(["Vectors", "from_array", "open_vectors", "write_vectors"], "mining.vectors"),
    },
)
