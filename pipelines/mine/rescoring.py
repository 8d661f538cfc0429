"""The candidates of a graph scored by the pair classifier, before they are matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from encoder.inference import Encoder
from mining.errors import InputError
from mining.neighbours import KnnGraph
from mining.paths import exists
from mining.retrieval import Edges, candidates, greedy_matching
from mining.scoring.classifier import ABOUT, FOLDER, PairClassifier, Use, load_classifier
from mining.scoring.features import pair_features
from mining.scoring.lexicon import Lexicon, train_lexicon
from mining.threads import thread_pool
from pipelines.mine.word_texts import WordEncoder, find_words, read_texts


class SideTexts(NamedTuple):
    """The sentences of one side, in the order of their rows."""

    texts: Sequence[str]
    lang: str | None


def rescored_candidates(
    graph: KnnGraph,
    source: SideTexts,
    target: SideTexts,
    encoder: Encoder,
    classifier: PairClassifier,
    lexicon: Lexicon | None = None,
    threads: int | None = None,
) -> Edges:
    """Every edge of the graph with the classifier's log likelihood ratio as its score, best first."""
    require_encoder(classifier, encoder)
    edges = candidates(graph)
    word_encoder = WordEncoder(encoder, classifier.project)
    left, right = (read_texts(side.texts, side.lang, word_encoder) for side in (source, target))
    with thread_pool(threads) as pool:
        features = pair_features(
            graph, edges, left, right, pool, lexicon_table=lexicon, least_mean=classifier.least_mean
        )
        scores = classifier.log_ratios(features, Use.mining, pool.count)
    order = np.lexsort((edges.target, edges.source, -scores))
    return replace(edges, scores=scores).take(order)


def matched(edges: Edges, rows: int, columns: int) -> Edges:
    """The greedy one-to-one matching of edges that are best first, as `Retrieval.max`."""
    return edges.take(greedy_matching(edges.source, edges.target, rows, columns))


def require_encoder(classifier: PairClassifier, encoder: Encoder) -> None:
    """Refuse a classifier of other vectors: its margins and word similarities would mean something else."""
    if classifier.encoder != encoder.fingerprint:
        raise InputError(
            f"the pair classifier was trained for the encoder {classifier.encoder}, not for {encoder.fingerprint}; "
            "make one for this encoder with train-classifier"
        )


def find_classifier(encoder: str, given: str | None = None) -> PairClassifier | None:
    """The classifier that was given, or the one beside an encoder, or None."""
    if given is not None:
        return load_classifier(given)
    beside = f"{encoder.rstrip('/')}/{FOLDER}"
    return load_classifier(beside) if exists(f"{beside}/{ABOUT}") else None


def seed_lexicon(source: SideTexts, target: SideTexts) -> Lexicon:
    """A lexicon of known translations."""
    return train_lexicon(find_words(source.texts, source.lang), find_words(target.texts, target.lang))
