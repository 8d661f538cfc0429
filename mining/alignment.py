"""Sentences of two documents aligned in order, many to many: vectors in, beads out.

The distance of two spans and the search from coarse to fine are Vecalign's (Thompson and Koehn 2019): neighbouring
sentences are added up until the whole matrix is small, its best path bounds the search among twice as many, and so on,
in time and memory that grow linearly. What a bead is worth is log-linear in that distance, in the lengths (Gale and
Church 1993) and in how many sentences it joins; the sum over all paths then tells how sure each bead is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mining.alignment_lattice import (
    Band,
    Side,
    Weights,
    band_around,
    full_band,
    judge,
    remaining,
    search,
    sentence_products,
    trace,
)
from mining.errors import InputError

BEADS = 8  # n + m of a bead is at most this
LARGEST_BEADS = 16  # a step is stored in a byte
_COARSE_CELLS = 300 * 300
_COARSE_WIDTH = 10
_SAMPLE = 1000
_DELETION_QUANTILE = 0.2
_LENGTH_POWER = 0.7  # of 0.5, 0.7 and 1 the best on the development article

# Fitted on the development article of Text+Berg by maximum likelihood (`docs/results.md`): weights of the distance
# for n * m, n + m and the bead as such; of the length terms; of beads by their sizes, smaller first.
_DISTANCE = (1.70, 1.26, 0.11)
_LENGTH = (0.77, 0.52, 1.57)
_DELETION = -3.94
_PRIORS = {(1, 1): 1.71, (1, 2): 0.59, (1, 3): 0.17, (2, 2): 0.13, (2, 3): -0.07, (3, 3): -0.22}
_LONGEST_SEEN, _LONGER = 6, 1.0  # for each sentence beyond those of the beads that the fit has seen
_LONG_PRIORS = {1: -0.31, 2: -0.68}  # of beads with four sentences or more on one side, by the smaller side


class Document(NamedTuple):
    """A document for `align_sentences`: vectors of its sentences or spans, and how long each sentence is.

    `vectors` (sentences, dim) are such that their sums are the vectors of longer spans (see `document_of`). `vectors`
    (sizes, sentences, dim) hold for each n the vector of the n sentences that end there, encoded as one text.
    """

    vectors: np.ndarray
    lengths: np.ndarray

    @property
    def sentences(self) -> int:
        return len(self.lengths)


def document_of(vectors: np.ndarray, texts: Sequence[str]) -> Document:
    """A document by the vectors of its sentences: a span is the sum of theirs, long ones weighing more.

    Of a bag encoder that is nearly the span's own vector; of others it measured within a point of F1 of it.
    """
    lengths = np.fromiter((len(text.encode()) for text in texts), np.float64, len(texts))
    return Document(_unit(np.asarray(vectors, np.float32)) * (lengths**_LENGTH_POWER)[:, None], lengths)


class Alignment(NamedTuple):
    """Beads in order: `beads[k]` holds first and last + 1 sentence of the source, then of the target.

    `distance` is Vecalign's, normalised so that strangers have about 1; NaN where one side of the bead is empty.
    `confidence` is the bead's share of all alignments, weighed by their likelihood.
    """

    beads: np.ndarray  # (beads, 4) int64
    distance: np.ndarray  # (beads,) float64
    confidence: np.ndarray  # (beads,) float64

    @property
    def two_sided(self) -> np.ndarray:
        return (self.beads[:, 1] > self.beads[:, 0]) & (self.beads[:, 3] > self.beads[:, 2])


def align_sentences(source: Document, target: Document, *, beads: int = BEADS) -> Alignment:
    """The most likely monotone alignment with beads of at most `beads` sentences, both sides together."""
    if not 2 <= beads < LARGEST_BEADS:
        raise InputError(f"a bead may have 2 to {LARGEST_BEADS - 1} sentences, not {beads}")
    if not source.sentences or not target.sentences:
        return _deletions(source.sentences, target.sentences)
    path = _coarse_path(_single(source), _single(target))
    src, tgt = _sides(source, target, beads - 1, _length_ratio(source, target, path))
    band = band_around(path, source.sentences, target.sentences, -(-beads // 2) + 5)
    weights = default_weights(beads)
    products = sentence_products(band, src, tgt, beads)
    lattice = search(band, products, src, tgt, weights)
    found = trace(band, lattice.step)
    rest = remaining(band, products, src, tgt, weights, lattice.total)
    return Alignment(found, *judge(found, band, products, src, tgt, weights, lattice.total, rest))


def default_weights(beads: int) -> Weights:
    distance, prior = np.zeros((beads + 1, beads + 1)), np.zeros((beads + 1, beads + 1))
    for n in range(1, beads + 1):
        for m in range(1, beads + 1):
            low, high = min(n, m), max(n, m)
            distance[n, m] = _DISTANCE[0] * n * m + _DISTANCE[1] * (n + m) + _DISTANCE[2]
            prior[n, m] = _PRIORS[low, high] if high < 4 else _LONG_PRIORS[min(low, 2)]
            prior[n, m] -= _LONGER * max(n + m - _LONGEST_SEEN, 0)
    return Weights(distance, prior, *_LENGTH, _DELETION, beads)


def _deletions(source: int, target: int) -> Alignment:
    rows = [(i, i + 1, 0, 0) for i in range(source)] + [(source, source, j, j + 1) for j in range(target)]
    count = len(rows)
    return Alignment(np.array(rows, np.int64).reshape(-1, 4), np.full(count, np.nan), np.ones(count))


def _length_ratio(source: Document, target: Document, path: np.ndarray) -> float:
    """Letters of the source for one of the target, where the path matches sentences: one side may be a part only."""
    matched = path[1:][(np.diff(path, axis=0) == 1).all(1)] - 1
    lengths = [float(side.lengths[matched[:, number]].sum()) for number, side in enumerate((source, target))]
    if not all(lengths):
        lengths = [float(source.lengths.sum()), float(target.lengths.sum())]
    return lengths[0] / max(lengths[1], 1.0)


def _sides(source: Document, target: Document, sizes: int, ratio: float = 1.0) -> tuple[Side, Side]:
    """Both documents with the norms of their spans; lengths of the target in letters of the source, by `ratio`."""
    spans = [_spans(document, sizes) for document in (source, target)]
    norms = [_norms(x, sizes) for x in spans]
    means = [_mean_direction(x, norm) for x, norm in zip(spans, norms, strict=True)]
    scales = 1.0, ratio
    sides = []
    for document, x, norm, mean, scale in zip((source, target), spans, norms, means[::-1], scales, strict=True):
        unlike = 1 - _window_sums(x @ mean, sizes) / np.maximum(norm, 1e-12)
        letters = np.concatenate([[0.0], np.cumsum(document.lengths * scale)])
        sides.append(Side(x, norm, unlike.astype(np.float32), letters))
    return sides[0], sides[1]


def _spans(document: Document, sizes: int) -> np.ndarray:
    vectors = np.ascontiguousarray(document.vectors, np.float32)
    if vectors.ndim == 2:
        # The scale is of no consequence; that of ordinary numbers keeps small float types from overflowing.
        return vectors[None] / max(float(np.abs(vectors).max(initial=0)), 1e-12)
    if len(vectors) < sizes:
        raise InputError(f"vectors of spans up to {sizes} sentences are needed; there are {len(vectors)} sizes")
    return vectors[:sizes] / np.maximum(np.linalg.norm(vectors[:sizes], axis=-1, keepdims=True), 1e-12)


def _window_sums(values: np.ndarray, sizes: int) -> np.ndarray:
    """(sizes, sentences): of spans with their own vectors the values themselves, else sums of n values up to each."""
    if len(values) > 1:
        return values
    edges = np.concatenate([[0.0], np.cumsum(values[0], dtype=np.float64)])
    ends = np.arange(1, len(edges))
    return np.stack([edges[ends] - edges[np.maximum(ends - n, 0)] for n in range(1, sizes + 1)])


def _norms(spans: np.ndarray, sizes: int) -> np.ndarray:
    """(sizes, sentences) lengths of the span vectors; |x + y|^2 = |x|^2 + 2 xy + |y|^2 spares the vectors of sums."""
    if len(spans) > 1:
        return np.ones(spans.shape[:2], np.float32)
    x = spans[0]
    own = np.einsum("nd,nd->n", x, x).astype(np.float64)
    squares = np.empty((sizes, len(x)))
    squares[0] = own
    cross = np.zeros(len(x))
    for n in range(1, sizes):
        cross[n:] += np.einsum("nd,nd->n", x[n:], x[:-n]) if n < len(x) else 0
        squares[n] = own + 2 * cross
        squares[n, 1:] += squares[n - 1, :-1]
    return np.sqrt(np.maximum(squares, 0)).astype(np.float32)


def _mean_direction(spans: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """The mean of unit spans of all sizes, from evenly spread places: its product is a mean of cosines."""
    count = spans.shape[1]
    ends = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64))
    total = np.zeros(spans.shape[2])
    window = np.zeros((len(ends), spans.shape[2]), np.float32)
    for n in range(len(norms)):
        if len(spans) > 1:
            window = spans[n, ends]
        else:
            window = window + np.where((ends >= n)[:, None], spans[0, np.maximum(ends - n, 0)], 0)
        total += (window / np.maximum(norms[n, ends], 1e-12)[:, None]).sum(0)
    return (total / (len(ends) * len(norms))).astype(np.float32)


def _single(document: Document) -> np.ndarray:
    """Unit vectors (sentences, dim)."""
    vectors = document.vectors if document.vectors.ndim == 2 else document.vectors[0]
    return _unit(np.asarray(vectors, np.float32))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _coarse_path(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Positions (points, 2) of the best path of single sentences, found from coarse to fine."""
    if len(source) * len(target) <= _COARSE_CELLS or min(len(source), len(target)) < 4:
        return _path(source, target, full_band(len(source), len(target)))
    coarse = _coarse_path(_halve(source), _halve(target))
    ends = np.array([len(source), len(target)])
    path = np.minimum(2 * coarse, ends)
    path[-1] = ends
    return _path(source, target, band_around(path, len(source), len(target), _COARSE_WIDTH))


def _halve(vectors: np.ndarray) -> np.ndarray:
    """Each two neighbours added up; the mean, which all share, would hide what tells them apart."""
    added = vectors[0::2].copy()
    added[: len(vectors) // 2] += vectors[1::2]
    return _unit(added - added.mean(0))


def _path(source: np.ndarray, target: np.ndarray, band: Band) -> np.ndarray:
    """The best path of 1-1, 1-0 and 0-1 beads."""
    sides = _sides(_flat(source), _flat(target), 1)
    products = sentence_products(band, *sides, 2)
    weights = Weights(np.ones((3, 3)), np.zeros((3, 3)), 0.0, 0.0, 0.0, -_deletion_cost(*sides), 2)
    beads = trace(band, search(band, products, *sides, weights).step)
    return np.concatenate([[(0, 0)], beads[:, [1, 3]]])


def _flat(vectors: np.ndarray) -> Document:
    return Document(vectors, np.ones(len(vectors)))


def _deletion_cost(src: Side, tgt: Side) -> float:
    """A quantile of the distance of random sentences; half of it, since two deletions stand against one match."""
    rng = np.random.default_rng(0)
    i, j = (rng.integers(0, side.spans.shape[1], 20 * _SAMPLE) for side in (src, tgt))
    x, y = src.spans[0], tgt.spans[0]
    products = np.concatenate(
        [np.einsum("nd,nd->n", x[i[k : k + _SAMPLE]], y[j[k : k + _SAMPLE]]) for k in range(0, len(i), _SAMPLE)]
    )
    cosines = products / np.maximum(src.norms[0, i] * tgt.norms[0, j], 1e-12)
    distances = 2 * (1 - cosines) / (1e-6 + src.unlike[0, i] + tgt.unlike[0, j])
    return float(np.quantile(distances, _DELETION_QUANTILE)) / 2
