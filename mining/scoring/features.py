"""All features of candidate pairs as one matrix, in the order of `NAMES`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mining.neighbours import KnnGraph
from mining.retrieval import BACKWARD, FORWARD, Edges
from mining.scoring import graph_features, lexicon, maxsim, surface
from mining.scoring.lexicon import Lexicon
from mining.scoring.maxsim import WordVectors
from mining.scoring.rivals import contrasts
from mining.scoring.surface import LengthModel, Surface
from mining.scoring.words import Words
from mining.threads import Threads

RATIO = graph_features.NAMES.index("ratio margin")
MEANS = [graph_features.NAMES.index(f"{side} neighbour mean") for side in ("source", "target")]
_CONTRASTED = (
    "ratio margin",
    *(maxsim.NAMES[place] for place in maxsim.CONTRASTED),
    *(lexicon.NAMES[place] for place in lexicon.CONTRASTED),
    *(surface.NAMES[place] for place in surface.CONTRASTED),
)
NAMES = (
    *graph_features.NAMES,
    *maxsim.NAMES,
    *lexicon.NAMES,
    *surface.NAMES,
    *(f"{name} over {rivals}" for name in _CONTRASTED for rivals in ("source rivals", "target rivals")),
)
CONTRASTED = [NAMES.index(name) for name in _CONTRASTED]  # columns of plain features
MUTUAL = FORWARD | BACKWARD
_LIKELY = 0.1  # of the mutual best pairs, those of the highest margin, tell the lengths of translations
_FEWEST_LIKELY = 200


class TextSide(NamedTuple):
    """What pair scoring knows of the texts of one side."""

    words: WordVectors
    surface: Surface


def text_side(
    texts: pa.Array, words: Words, vectors: NDArray[np.float32], weights: NDArray[np.float32] | None = None
) -> TextSide:
    """`words` are of the same texts (segmented where their script has no spaces), `vectors` one for each of them.

    `weights` are theirs, by default by how many of these texts have each.
    """
    weights = words.idf() if weights is None else weights
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    unit = np.ascontiguousarray(vectors / lengths, np.float32)
    return TextSide(WordVectors(words, unit, weights), surface.read_surface(texts, words, weights))


def pair_features(
    graph: KnnGraph,
    edges: Edges,
    source: TextSide,
    target: TextSide,
    threads: Threads,
    *,
    lexicon_table: Lexicon | None = None,
    given: NDArray[np.bool_] | None = None,
    least_mean: float = 0.0,
) -> NDArray[np.float32]:
    """(edges, `NAMES`); each edge once. `given` marks pairs that came as pairs: they tell the lengths of translations.

    The edges should hold the rivals of each pair, as `retrieval.candidates` does: contrasts are over these. Without a
    lexicon its features are NaN.
    """
    rows, columns = edges.source, edges.target
    of_graph = graph_features.graph_features(graph, rows, columns, edges.cosines, least_mean)
    likely = np.flatnonzero(edges.directions == MUTUAL if given is None else given)
    if given is None:
        likely = likely[likeliest(of_graph[likely, RATIO], rows[likely], columns[likely])]
    lengths = surface.fit_lengths(source.surface, target.surface, rows[likely], columns[likely])
    plain = plain_features(of_graph, lengths, source, target, rows, columns, threads, lexicon_table)
    return with_contrasts(plain, *(rival_contrasts(plain, ends) for ends in (rows, columns)))


def plain_features(
    of_graph: NDArray[np.float32],
    lengths: LengthModel,
    source: TextSide,
    target: TextSide,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    threads: Threads,
    lexicon_table: Lexicon | None = None,
) -> NDArray[np.float32]:
    """(pairs, features) of pairs without their rivals, beside what the graph says of them."""
    of_words = maxsim.maxsim_features(source.words, target.words, rows, columns, threads)
    if lexicon_table is None:
        of_lexicon = np.full((len(rows), len(lexicon.NAMES)), np.nan, np.float32)
    else:
        sides = source.words.words, target.words.words
        of_lexicon = lexicon.lexicon_features(lexicon_table, *sides, rows, columns, threads)
    of_surface = surface.surface_features(source.surface, target.surface, lengths, rows, columns, threads)
    return np.concatenate([of_graph, of_words, of_lexicon, of_surface], axis=1)


def rival_contrasts(plain: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float32]:
    """(pairs, contrasted features) of all candidates of some sentences, which `ends` names: against each other."""
    return contrasts(plain[:, CONTRASTED], ends)


def with_contrasts(
    plain: NDArray[np.float32], of_source: NDArray[np.float32], of_target: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(pairs, `NAMES`) of the contrasts with the rivals of both ends."""
    both = np.stack([of_source, of_target], axis=2).reshape(len(plain), -1)
    return np.concatenate([plain, both], axis=1)


def likeliest(ratios: NDArray[np.float32], source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the mutual pairs that are likely translations: those of the highest margin."""
    count = max(int(_LIKELY * len(ratios)), _FEWEST_LIKELY)
    return np.lexsort((target, source, -ratios))[:count]
