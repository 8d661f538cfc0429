"""Scores of one chunk of a bitext: filters first, then the classifier over what they keep."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from encoder.inference import Encoder
from mining.filters import FilterSettings, apply_filters
from mining.knn import knn_graph
from mining.scoring.classifier import PairClassifier, Use
from mining.scoring.features import NAMES, RATIO, pair_features
from mining.scoring.lexicon import Lexicon
from mining.threads import thread_pool
from mining.vectors import from_array
from pipelines.clean.given import with_rivals
from pipelines.mine.word_texts import read_texts

SCORES = ("probability", "cosine", "margin")
K = 4
_COSINE = NAMES.index("cosine")


def score_chunk(
    chunk: pa.Table,
    langs: tuple[str | None, str | None],
    encoder: Encoder,
    classifier: PairClassifier,
    filters: FilterSettings,
    lexicon: Lexicon | None = None,
    threads: int | None = None,
) -> pa.Table:
    """The chunk with its `SCORES` (null for rows that are no pairs or that a filter drops) and those reasons."""
    reasons = np.array(chunk["reason"].to_pylist(), object)
    rows = np.flatnonzero(chunk["reason"].is_null().to_numpy())
    texts = chunk.take(rows).select(["source", "target"]).rename_columns(["src_text", "tgt_text"])
    filtered = apply_filters(texts.combine_chunks(), filters, *langs)
    reasons[rows] = np.array(filtered.reasons.to_pylist(), object)
    kept = rows[filtered.kept]
    scores = np.full((len(chunk), len(SCORES)), np.nan)
    if len(kept):
        sides = [chunk[name].take(kept).to_pylist() for name in ("source", "target")]
        scores[kept] = score_pairs(sides[0], sides[1], langs, encoder, classifier, lexicon, threads)
    chunk = chunk.set_column(chunk.schema.get_field_index("reason"), "reason", pa.array(reasons, pa.string()))
    for place, name in enumerate(SCORES):
        chunk = chunk.append_column(name, pa.array(scores[:, place], pa.float32(), from_pandas=True))
    return chunk


def score_pairs(
    source: list[str],
    target: list[str],
    langs: tuple[str | None, str | None],
    encoder: Encoder,
    classifier: PairClassifier,
    lexicon: Lexicon | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """(pairs, `SCORES`) of given pairs; margins and rivals are those among the pairs themselves."""
    features = given_features(source, target, langs, encoder, classifier, lexicon, threads)
    odds = classifier.log_odds(features, Use.cleaning).astype(np.float64)
    return np.stack([1 / (1 + np.exp(-odds)), features[:, _COSINE], features[:, RATIO]], axis=1)


def given_features(
    source: list[str],
    target: list[str],
    langs: tuple[str | None, str | None],
    encoder: Encoder,
    classifier: PairClassifier,
    lexicon: Lexicon | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """(pairs, features) of given pairs, in their order."""
    vectors = [encoder.encode(texts, lang, normalize=True) for texts, lang in zip((source, target), langs, strict=True)]
    k = min(K, len(source))
    graph = knn_graph(from_array(vectors[0]), from_array(vectors[1]), k, threads=threads)
    edges, given = with_rivals(graph, vectors[0], vectors[1])
    left, right = (
        read_texts(texts, lang, encoder, classifier.project)
        for texts, lang in zip((source, target), langs, strict=True)
    )
    with thread_pool(threads) as pool:
        features = pair_features(graph, edges, left, right, pool, lexicon_table=lexicon, given=given)
    return features[given]
