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
from pipelines.mine.word_texts import WordEncoder, read_texts

SCORES = ("log_ratio", "cosine", "margin")  # the first is the classifier's log likelihood ratio
Languages = tuple[str | None, str | None]
K = 4
_COSINE = NAMES.index("cosine")
_SURE = 4.0  # a log ratio above this needs no explanation


class Scorer:
    """What scores given pairs of two languages: an encoder, its classifier, and a lexicon where there is one."""

    def __init__(
        self, encoder: Encoder, classifier: PairClassifier, langs: Languages, lexicon: Lexicon | None = None
    ) -> None:
        self.encoder, self.classifier, self.langs, self.lexicon = encoder, classifier, langs, lexicon
        self._words = WordEncoder(encoder, classifier.project)

    def scores(self, source: list[str], target: list[str]) -> np.ndarray:
        """(pairs, `SCORES`) of given pairs; margins and rivals are those among the pairs themselves."""
        return scores_of(self.features(source, target), self.classifier)

    def features(self, source: list[str], target: list[str], threads: int | None = None) -> np.ndarray:
        """(pairs, features) of given pairs, in their order."""
        sides = list(zip((source, target), self.langs, strict=True))
        vectors = [self.encoder.encode(texts, lang, normalize=True) for texts, lang in sides]
        k = min(K, len(source))
        graph = knn_graph(from_array(vectors[0]), from_array(vectors[1]), k, threads=threads)
        edges, given = with_rivals(graph, vectors[0], vectors[1])
        left, right = (read_texts(texts, lang, self._words) for texts, lang in sides)
        with thread_pool(threads) as pool:
            features = pair_features(
                graph,
                edges,
                left,
                right,
                pool,
                lexicon_table=self.lexicon,
                given=given,
                least_mean=self.classifier.least_mean,
            )
        return features[given]


def score_chunk(
    chunk: pa.Table, scorer: Scorer, filters: FilterSettings, explain: bool = False, *, threads: int | None = None
) -> pa.Table:
    """The chunk with its `SCORES` (null for rows that are no pairs or that a filter drops) and those reasons.

    With `explain`, the column `why` names what speaks most against a pair that is not quite sure.
    """
    reasons = np.array(chunk["reason"].to_pylist(), object)
    rows = np.flatnonzero(chunk["reason"].is_null().to_numpy())
    texts = chunk.take(rows).select(["source", "target"]).rename_columns(["src_text", "tgt_text"])
    filtered = apply_filters(texts.combine_chunks(), filters, *scorer.langs)
    reasons[rows] = np.array(filtered.reasons.to_pylist(), object)
    kept = rows[filtered.kept]
    scores, why = np.full((len(chunk), len(SCORES)), np.nan), np.full(len(chunk), None, object)
    if len(kept):
        sides = [chunk[name].take(kept).to_pylist() for name in ("source", "target")]
        features = scorer.features(sides[0], sides[1], threads)
        scores[kept] = scores_of(features, scorer.classifier, threads)
        doubtful = np.flatnonzero(scores[kept, 0] < _SURE) if explain else np.empty(0, np.int64)
        why[kept[doubtful]] = _against(features[doubtful], scorer.classifier)
    chunk = chunk.set_column(chunk.schema.get_field_index("reason"), "reason", pa.array(reasons, pa.string()))
    if explain:
        chunk = chunk.append_column("why", pa.array(why, pa.string()))
    for place, name in enumerate(SCORES):
        chunk = chunk.append_column(name, pa.array(scores[:, place], pa.float32(), from_pandas=True))
    return chunk


def scores_of(features: np.ndarray, classifier: PairClassifier, threads: int | None = None) -> np.ndarray:
    """(pairs, `SCORES`) of pairs by their features."""
    ratios = classifier.log_ratios(features, Use.cleaning, threads)
    return np.stack([ratios, features[:, _COSINE], features[:, RATIO]], axis=1)


def _against(features: np.ndarray, classifier: PairClassifier) -> list[str]:
    """The three features that lower the log odds of each pair most."""
    if not len(features):
        return []
    explained = classifier.explain(features, Use.cleaning, most=len(NAMES))
    against = ([part for part in parts if part.log_odds < 0][:3] for parts in explained)
    return ["; ".join(f"{part.name} {part.value:.2f} ({part.log_odds:+.1f})" for part in parts) for parts in against]
