"""Which documents of two languages may belong together: candidates by mean vectors or by votes of their sentences,
BiMax, a margin over documents.

BiMax (Wang et al. 2025) is the mean of each sentence's best cosine with the other document, both ways; here sentences
weigh by their length, and the direction from the shorter document counts alone where one of the two is a part only. The
ratio margin over a document's other candidates tells a counterpart from a document that is merely about the same. The
best few of a document are aligned, and `mining.document_judgement` chooses among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mining.document_judgement import more_than_a_part
from mining.knn import knn_graph
from mining.margin import Margin, margin_scores
from mining.vectors import from_array

CANDIDATES = 16
TRIED = 3  # alignments that a document takes part in at most
_NEIGHBOURS = 4
_CELLS = 1 << 22  # cosines at a time
_PAIRS = 256  # that a thread takes at a time
_BLOCK = 1 << 14  # sentences whose lengths are made at a time
# Worth aligning is what has so large a margin, and so much of the best one of both documents. Development counterparts
# have 1.08 and more, half of the other candidates 0.8 and less; copies of one document have 1.0, but for rounding.
_LEAST_MARGIN, _NEARLY = 0.99, 0.85
_SAME_KEY = 1.1  # documents whose names differ by the language alone score this much higher


@dataclass(frozen=True)
class Collection:
    """Documents of one language: document k has the sentences `starts[k]` to `starts[k + 1]`."""

    vectors: np.ndarray  # (sentences, dim), of any length; may be mapped
    lengths: np.ndarray  # (sentences,) of the texts
    starts: np.ndarray  # (documents + 1,) int64

    @property
    def documents(self) -> int:
        return len(self.starts) - 1

    def rows(self, document: int) -> slice:
        return slice(int(self.starts[document]), int(self.starts[document + 1]))

    def part(self, document: int) -> DocumentPart:
        rows = self.rows(document)
        return DocumentPart(np.asarray(self.vectors[rows], np.float32), self._scale[rows], _weights(self.lengths[rows]))

    @cached_property
    def _scale(self) -> np.ndarray:
        """For all sentences at once: a document is a candidate of many."""
        blocks = (_scale(self.vectors[start : start + _BLOCK]) for start in range(0, len(self.vectors), _BLOCK))
        return np.concatenate([np.empty(0, np.float32), *blocks])


class DocumentPart(NamedTuple):
    """The sentences of one document."""

    vectors: np.ndarray  # (sentences, dim) float32, of any length
    scale: np.ndarray  # (sentences,) float32: times this they are of length one
    weights: np.ndarray  # (sentences,) float32


class DocumentCandidates(NamedTuple):
    """Pairs of documents, and which of them have names that differ by the language alone."""

    source: np.ndarray
    target: np.ndarray
    same_key: np.ndarray


class Trials(NamedTuple):
    """Pairs of documents that are worth aligning, best first, and the best candidate of each document, -1 for none."""

    source: np.ndarray
    target: np.ndarray
    score: np.ndarray  # margins, above what they are where the names, too, say that they belong together
    nearest: tuple[np.ndarray, np.ndarray]  # for the documents of both sides


def document_part(vectors: np.ndarray, lengths: np.ndarray) -> DocumentPart:
    """Sentences of vectors of any length; long ones weigh more."""
    vectors = np.asarray(vectors, np.float32)
    return DocumentPart(vectors, _scale(vectors), _weights(lengths))


def _scale(vectors: np.ndarray) -> np.ndarray:
    return 1 / np.maximum(np.linalg.norm(np.asarray(vectors, np.float32), axis=1), np.float32(1e-12))


def _weights(lengths: np.ndarray) -> np.ndarray:
    return np.asarray(lengths, np.float32) ** np.float32(0.7)


def find_trials(
    source: Collection,
    target: Collection,
    keys: tuple[Sequence[str], Sequence[str]] | None = None,
    *,
    candidates: int = CANDIDATES,
    threads: int = 1,
) -> Trials:
    """Pairs of documents by the margin of their BiMax; `keys` are their names without the language."""
    pairs = with_same_keys(_near(source, target, candidates), keys)

    def of_range(start: int, stop: int) -> list[float]:
        couples = zip(pairs.source[start:stop].tolist(), pairs.target[start:stop].tolist(), strict=True)
        return [bimax(source.part(a), target.part(b)) for a, b in couples]

    edges = [*range(0, len(pairs.source), _PAIRS), len(pairs.source)]
    # Products are small: the matrix library's own threads only get in the way.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        cosines = chain.from_iterable(pool.map(of_range, edges[:-1], edges[1:]))
        return trials(pairs, np.fromiter(cosines, float), source.documents, target.documents)


def trials(pairs: DocumentCandidates, cosines: np.ndarray, sources: int, targets: int) -> Trials:
    """The best pairs, no document in more than `TRIED`, by the margin of `cosines`, the BiMax of each pair."""
    rows, columns, same = pairs
    if not len(rows):
        none = np.empty(0, np.int64)
        return Trials(none, none, np.empty(0), (np.full(sources, -1), np.full(targets, -1)))
    means = [_top_mean(side, cosines, count) for side, count in ((rows, sources), (columns, targets))]
    scores = margin_scores(cosines, means[0][rows], means[1][columns], Margin.ratio)
    scores = np.where(same, _SAME_KEY, 1.0) * np.where(cosines > 0, scores, 0.0)
    order = np.lexsort((columns, rows, -scores))
    nearest = _first(rows[order], columns[order], sources), _first(columns[order], rows[order], targets)
    tops = _largest(rows, scores, sources)[rows], _largest(columns, scores, targets)[columns]
    likely = order[(scores >= np.maximum(_LEAST_MARGIN, _NEARLY * np.maximum(*tops)))[order]]
    kept = likely[take_best(rows[likely], columns[likely], TRIED)]
    return Trials(rows[kept], columns[kept], scores[kept], nearest)


def take_best(rows: np.ndarray, columns: np.ndarray, most: int = 1) -> np.ndarray:
    """Places of pairs, in order, of which each takes part wherever both ends are in fewer than `most` so far."""
    counts: tuple[Counter[int], Counter[int]] = Counter(), Counter()
    taken = []
    for place, (a, b) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if counts[0][a] < most and counts[1][b] < most:
            counts[0][a] += 1
            counts[1][b] += 1
            taken.append(place)
    return np.array(taken, np.int64)


def bimax(source: DocumentPart, target: DocumentPart) -> float:
    """Mean best cosine of the sentences of two documents; of the shorter one where it is less than two thirds, and less
    where it is no more than a chance part."""
    if not len(source.vectors) or not len(target.vectors):
        return 0.0
    best = np.empty(len(source.vectors), np.float32), np.full(len(target.vectors), -np.inf, np.float32)
    step = max(_CELLS // len(target.vectors), 1)
    for start in range(0, len(source.vectors), step):
        cosines = source.vectors[start : start + step] @ target.vectors.T
        cosines *= target.scale
        cosines *= source.scale[start : start + step, None]
        best[0][start : start + step] = cosines.max(1)
        np.maximum(best[1], cosines.max(0), out=best[1])
    weights = source.weights, target.weights
    totals = [float(weight.sum()) for weight in weights]
    ways = [
        float(nearest @ weight) / max(total, 1e-9) for nearest, weight, total in zip(best, weights, totals, strict=True)
    ]
    shorter = int(totals[1] < totals[0])
    share = min(totals) / max(max(totals), 1e-9)
    other = np.clip((share - 0.4) / 0.4, 0.0, 1.0) / 2  # from a part alone to the same in both directions
    whole = more_than_a_part(share, min(len(source.vectors), len(target.vectors)))
    return float(whole * ((1 - other) * ways[shorter] + other * ways[1 - shorter]))


def document_vectors(collection: Collection) -> np.ndarray:
    """(documents, dim): weighted sums of sentence vectors, less their mean, which tells no document from another."""
    parts = map(collection.part, range(collection.documents))  # one at a time: all may not fit in memory
    sums = np.stack([(part.weights * part.scale) @ part.vectors for part in parts])
    unit = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    distinct = np.unique(np.round(unit, 4).astype(np.float32), axis=0)  # a document repeated is no more typical
    return (unit - distinct.mean(0) * (len(distinct) > 3)).astype(np.float32)


def voted_candidates(
    source: np.ndarray, target: np.ndarray, margins: np.ndarray, count: int = CANDIDATES
) -> np.ndarray:
    """(pairs, 2): the `count` documents of the other side for which most of a document's sentences vote.

    A sentence of the document `source[k]` and one of `target[k]` are nearest to each other, with this ratio margin;
    what it has above 1 is the weight of their vote. Time grows with the votes and not with pairs of documents.
    """
    votes = np.maximum(np.asarray(margins, np.float64) - 1.0, 0.0)
    pairs, place = np.unique(np.stack([source, target], 1).astype(np.int64), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), votes, len(pairs))
    kept = np.zeros(len(pairs), bool)
    for side in range(2):
        order = np.lexsort((-total, pairs[:, side]))
        ordered = pairs[order, side]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        kept[order[rank < count]] = True
    return pairs[kept & (total > 0)]


def with_same_keys(pairs: np.ndarray, keys: tuple[Sequence[str], Sequence[str]] | None) -> DocumentCandidates:
    """Distinct candidates (pairs, 2), with those of one key and which these are."""
    named = _same_keys(keys) if keys else np.empty((0, 2), np.int64)
    pairs = np.unique(np.concatenate([pairs, named]), axis=0)
    wide = int(pairs[:, 1].max(initial=0)) + 1
    codes, wanted = (rows[:, 0] * wide + rows[:, 1] for rows in (pairs, named))
    return DocumentCandidates(pairs[:, 0], pairs[:, 1], np.isin(codes, wanted))


def _near(source: Collection, target: Collection, count: int) -> np.ndarray:
    """(pairs, 2): documents that are near by mean vector, seen from either side."""
    filled = [np.flatnonzero(np.diff(side.starts) > 0) for side in (source, target)]
    if not len(filled[0]) or not len(filled[1]):
        return np.empty((0, 2), np.int64)
    x, y = (document_vectors(side)[rows] for side, rows in zip((source, target), filled, strict=True))
    graph = knn_graph(from_array(x, "source documents"), from_array(y, "target documents"), min(count, len(x), len(y)))
    near = [np.stack(np.broadcast_arrays(np.arange(len(side.ids))[:, None], side.ids), -1) for side in graph]
    flat = np.concatenate([near[0].reshape(-1, 2), near[1].reshape(-1, 2)[:, ::-1]]).astype(np.int64)
    flat = flat[(flat >= 0).all(1) & (flat[:, 0] < len(x)) & (flat[:, 1] < len(y))]
    return np.stack([filled[0][flat[:, 0]], filled[1][flat[:, 1]]], 1)


def _same_keys(keys: tuple[Sequence[str], Sequence[str]]) -> np.ndarray:
    """Documents whose key occurs once on each side."""
    places: list[dict[str, int]] = []
    for side in keys:
        first: dict[str, int] = {}
        repeated = set()
        for place, key in enumerate(side):
            if first.setdefault(key, place) != place:
                repeated.add(key)
        places.append({key: place for key, place in first.items() if key and key not in repeated})
    return np.array([(i, places[1][key]) for key, i in places[0].items() if key in places[1]], np.int64).reshape(-1, 2)


def _top_mean(side: np.ndarray, cosines: np.ndarray, documents: int) -> np.ndarray:
    """For each document the mean of its best few cosines; where there are fewer, of 1.0 that many times less."""
    order = np.lexsort((-cosines, side))
    ordered, values = side[order], cosines[order]
    first = np.searchsorted(ordered, np.arange(documents))
    rank = np.arange(len(ordered)) - first[ordered]
    kept = rank < _NEIGHBOURS
    total = np.bincount(ordered[kept], values[kept], documents)
    number = np.bincount(ordered[kept], minlength=documents)
    return total / np.maximum(number, 1)


def _first(side: np.ndarray, other: np.ndarray, documents: int) -> np.ndarray:
    """The first partner of each document in order of score."""
    first = np.full(documents, -1)
    first[side[::-1]] = other[::-1]
    return first


def _largest(side: np.ndarray, scores: np.ndarray, documents: int) -> np.ndarray:
    largest = np.zeros(documents)
    np.maximum.at(largest, side, scores)
    return largest
