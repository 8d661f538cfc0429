"""Best thresholds of comparable corpora and of parts of them, which tell how a threshold changes with their size."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

import numpy as np

from mining.metrics import is_gold
from mining.neighbours import KnnGraph
from mining.retrieval import Edges
from mining.threshold_transfer import SizedThreshold, deal, log_size, smooth_threshold
from pipelines.evaluation.benchmark import graph_of
from pipelines.evaluation.benchmark_files import Texts
from pipelines.evaluation.comparable import Comparable

Way = TypeVar("Way", bound=Hashable)
Miner = Callable[[KnnGraph, Texts, Texts], Edges]  # the pairs of a graph, by one way to mine
_DEALT = (2, 2, 2, 2, 4, 4, 4, 4)  # parts that corpora are dealt out to, again and again


def sized_thresholds(
    corpora: Comparable, vectors: tuple[np.ndarray, np.ndarray], k: int, miners: Mapping[Way, Miner], seed: int
) -> dict[Way, list[SizedThreshold]]:
    """For each way to mine the best threshold of the whole, and then those of its parts."""
    rng = np.random.default_rng(seed)
    points: dict[Way, list[SizedThreshold]] = {way: [] for way in miners}
    for parts in (1, *_DEALT) if miners else ():
        times = max(_DEALT.count(parts), 1)
        for part in deal(corpora.gold, len(corpora.source), len(corpora.target), parts, rng):
            if not len(part.gold):
                continue
            graph = graph_of(vectors[0][part.source], vectors[1][part.target], k)
            texts = [side.take(rows.tolist(), side.name) for side, rows in zip(_sides(corpora), part[:2], strict=True)]
            for way, mine in miners.items():
                edges = mine(graph, texts[0], texts[1])
                right = is_gold(np.stack([edges.source, edges.target], axis=1), part.gold)
                best = smooth_threshold(edges.scores, right, len(part.gold), rng)
                points[way].append(SizedThreshold(log_size(*map(len, texts)), best, 1 / (parts * times)))
    return points


def _sides(corpora: Comparable) -> tuple[Texts, Texts]:
    return corpora.source, corpora.target
