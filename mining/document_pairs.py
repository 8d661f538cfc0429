"""Which documents of two languages belong together: candidates by mean vectors or by votes of their sentences, BiMax, a
margin over documents.

BiMax (Wang et al. 2025) is the mean of each sentence's best cosine with the other document, both ways; here sentences
weigh by their length, and the direction from the shorter document counts alone where one of the two is a part only. The
ratio margin over a document's other candidates tells a counterpart from a document that is merely about the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mining.alignment import Alignment
from mining.knn import knn_graph
from mining.margin import Margin, margin_scores
from mining.vectors import from_array

CANDIDATES = 16
_NEIGHBOURS = 4
_CELLS = 1 << 22  # cosines at a time
_PAIRS = 256  # that a thread takes at a time
_BLOCK = 1 << 14  # sentences whose lengths are made at a time
_HALF_WAY, _STEEPNESS = 0.30, 40.0
_SHORT, _HALF_WAY_MORE = 4, 0.12  # strangers of so few sentences may be like each other by chance
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


class Matches(NamedTuple):
    """One-to-one pairs of documents, best first, and the best candidate of each document, -1 without any."""

    source: np.ndarray
    target: np.ndarray
    score: np.ndarray
    best_of_source: np.ndarray
    best_of_target: np.ndarray


def document_part(vectors: np.ndarray, lengths: np.ndarray) -> DocumentPart:
    """Sentences of vectors of any length; long ones weigh more."""
    vectors = np.asarray(vectors, np.float32)
    return DocumentPart(vectors, _scale(vectors), _weights(lengths))


def _scale(vectors: np.ndarray) -> np.ndarray:
    return 1 / np.maximum(np.linalg.norm(np.asarray(vectors, np.float32), axis=1), np.float32(1e-12))


def _weights(lengths: np.ndarray) -> np.ndarray:
    return np.asarray(lengths, np.float32) ** np.float32(0.7)


def match_documents(
    source: Collection,
    target: Collection,
    keys: tuple[Sequence[str], Sequence[str]] | None = None,
    *,
    candidates: int = CANDIDATES,
    threads: int = 1,
) -> Matches:
    """Pair documents one to one by the margin of their BiMax; `keys` are their names without the language."""
    pairs = with_same_keys(_near(source, target, candidates), keys)

    def of_range(start: int, stop: int) -> list[float]:
        couples = zip(pairs.source[start:stop].tolist(), pairs.target[start:stop].tolist(), strict=True)
        return [bimax(source.part(a), target.part(b)) for a, b in couples]

    edges = [*range(0, len(pairs.source), _PAIRS), len(pairs.source)]
    # Products are small: the matrix library's own threads only get in the way.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        cosines = chain.from_iterable(pool.map(of_range, edges[:-1], edges[1:]))
        return assign(pairs, np.fromiter(cosines, float), source.documents, target.documents)


def assign(pairs: DocumentCandidates, cosines: np.ndarray, sources: int, targets: int) -> Matches:
    """The best pairs one to one, by the margin of `cosines`, the BiMax of each pair."""
    rows, columns, same = pairs
    if not len(rows):
        none = np.empty(0, np.int64)
        return Matches(none, none, np.empty(0), np.full(sources, -1), np.full(targets, -1))
    means = [_top_mean(side, cosines, count) for side, count in ((rows, sources), (columns, targets))]
    scores = margin_scores(cosines, means[0][rows], means[1][columns], Margin.ratio)
    scores = np.where(same, _SAME_KEY, 1.0) * np.where(cosines > 0, scores, 0.0)
    order = np.lexsort((columns, rows, -scores))
    kept = order[_greedy(rows[order], columns[order], sources, targets)]
    best = [
        _best(side[order], other[order], count)
        for side, other, count in ((rows, columns, sources), (columns, rows, targets))
    ]
    return Matches(rows[kept], columns[kept], scores[kept], best[0], best[1])


def bimax(source: DocumentPart, target: DocumentPart) -> float:
    """Mean best cosine of the sentences of two documents; of the shorter one where it is less than two thirds."""
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
    return float((1 - other) * ways[shorter] + other * ways[1 - shorter])


def pair_confidence(alignment: Alignment, source: np.ndarray, target: np.ndarray, order: float) -> float:
    """How likely two documents are translations, by these two alone: of the shorter one's text, the part that is
    aligned, each bead by its similarity and how sure it is, times `order`, their `order_agreement`. Of the development
    sets of `eval/documents` 95% of the strangers have less than 0.25, and those of ten sentences and more that are
    backwards 0.11 at most; counterparts have 0.37 and more, freely translated articles 0.34. `source` and `target` are
    sentence lengths.
    """
    two = alignment.two_sided
    side = int(target.sum() < source.sum())
    lengths = (source, target)[side]
    if not two.any() or not lengths.sum():
        return 0.0
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    beads = alignment.beads[two]
    share = (edges[beads[:, 2 * side + 1]] - edges[beads[:, 2 * side]]) / edges[-1]
    similar = np.clip(1 - alignment.distance[two], 0, 1) * alignment.confidence[two]
    half_way = _HALF_WAY + _HALF_WAY_MORE * min(1.0, _SHORT / min(len(source), len(target)))
    return float(1 / (1 + np.exp(-_STEEPNESS * (order * (share @ similar) - half_way))))


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


def _greedy(rows: np.ndarray, columns: np.ndarray, sources: int, targets: int) -> np.ndarray:
    free = [np.ones(sources, bool), np.ones(targets, bool)]
    taken = []
    for place, (a, b) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if free[0][a] and free[1][b]:
            free[0][a] = free[1][b] = False
            taken.append(place)
    return np.array(taken, np.int64)


def _best(side: np.ndarray, other: np.ndarray, documents: int) -> np.ndarray:
    """The first partner of each document in order of score."""
    best = np.full(documents, -1)
    best[side[::-1]] = other[::-1]
    return best
