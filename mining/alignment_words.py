"""Where the words of a sentence lie in the other document, by vectors of single words.

Each word's weight is spread over the sentences of the other document that are near, by how like its best match in
each of them is (a softmax of MaxSim, see `mining.scoring.maxsim`), and over none of them: a word without a translation
lies elsewhere. What of it falls inside a bead adds up over its pairs of sentences, so that spans cost nothing more. All
is decided by the two documents alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mining.alignment_band import Band, Products
from mining.row_products import row_products
from mining.scoring.maxsim import WordVectors
from mining.scoring.words import Words

_SHARPNESS = 20.0  # of 10, 20 and 30 the likeliest on the development article, by little
_ELSEWHERE = 0.55  # a word whose best cosine is this is as likely nowhere near
_BLOCK = 32  # sentences whose words are multiplied at a time
_DIM = 64
PROJECTED_TEXTS = 2000  # whose words decide which directions matter


class WordProjection(NamedTuple):
    """The directions in which words differ most: cosines hardly change in them, and cost a fraction."""

    directions: NDArray[np.float32]  # (dim, fewer)

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(words, fewer), of length one."""
        projected = row_products(vectors, self.directions)
        lengths = np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
        return np.ascontiguousarray(projected / lengths, np.float32)


def word_projection(*samples: NDArray[np.float32]) -> WordProjection:
    """From vectors of some words of both languages."""
    dim = samples[0].shape[1]
    if dim <= _DIM:
        return WordProjection(np.eye(dim, dtype=np.float32))
    square = np.zeros((dim, dim))
    for vectors in samples:
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        square += unit.T.astype(np.float64) @ unit
    return WordProjection(np.linalg.eigh(square)[1][:, -_DIM:].astype(np.float32))


def word_vectors(words: Words, vectors: NDArray[np.float32]) -> WordVectors:
    """The words of a document; `vectors` (vocabulary, dim) are of length one.

    A word that is in one sentence only weighs one, others less.
    """
    weights = np.maximum(words.idf(), 0.0) / np.log((len(words) + 1.0) / 1.5)
    return WordVectors(words, vectors, weights.astype(np.float32))


class CorpusWords(NamedTuple):
    """The words of many texts, and a vector for each distinct one."""

    words: Words
    vectors: NDArray[np.float32]  # (vocabulary, dim)

    @property
    def first(self) -> NDArray[np.float32]:
        """The vectors of the words that the first texts have."""
        ids = self.words.ids[: self.words.offsets[min(PROJECTED_TEXTS, len(self.words))]]
        return self.vectors[: ids.max(initial=-1) + 1]


def project_words(sides: tuple[CorpusWords, CorpusWords]) -> tuple[CorpusWords, CorpusWords]:
    """Both in the directions of the words of their first texts."""
    projection = word_projection(*(side.first for side in sides))
    first, second = (side._replace(vectors=projection.of(side.vectors)) for side in sides)
    return first, second


def of_document(corpus: CorpusWords, start: int, stop: int) -> WordVectors:
    """The words of the texts from `start` to `stop` as a document of its own."""
    words, vectors = corpus
    offsets = words.offsets[start : stop + 1]
    used, ids = np.unique(words.ids[offsets[0] : offsets[-1]], return_inverse=True)
    own = Words(ids.astype(np.int32), offsets - offsets[0], words.hashes[used], words.vocabulary.take(used))
    return word_vectors(own, vectors[used])


def word_weights(side: WordVectors) -> NDArray[np.float64]:
    """(texts,) the weight of each text's words."""
    edges = np.concatenate([[0.0], np.cumsum(side.weights[side.words.ids], dtype=np.float64)])
    return edges[side.words.offsets[1:]] - edges[side.words.offsets[:-1]]


def with_words(products: Products, window: Band, source: WordVectors, target: WordVectors) -> Products:
    """The products with the shares of words, of pairs of sentences inside a window."""
    sentences = len(target.words)
    lo, hi = np.minimum(window.lo[:-1], sentences), np.minimum(window.hi[:-1], sentences)
    size = int(products.start[-1])
    filled = products._replace(source_words=np.zeros(size, np.float32), target_words=np.zeros(size, np.float32))
    _spread(source, target, lo, hi, filled, transposed=False)
    columns = np.arange(sentences)
    # The rows whose range holds a column: ranges never fall back, neither their starts nor their ends.
    first, last = np.searchsorted(hi, columns, "right"), np.searchsorted(lo, columns, "right")
    _spread(target, source, first, last, filled, transposed=True)
    return filled


class Located(NamedTuple):
    """How much of the words of each sentence of both documents was found in the other one."""

    source: NDArray[np.float64]
    target: NDArray[np.float64]


def located(products: Products, source: int, target: int) -> Located:
    """Nothing where the products have no words."""
    if not len(products.source_words):
        return Located(np.zeros(source), np.zeros(target))
    columns = np.arange(products.start[-1]) + np.repeat(products.lo - products.start[:-1], np.diff(products.start))
    rows = np.concatenate([[0.0], np.cumsum(products.source_words, dtype=np.float64)])[products.start]
    return Located(np.diff(rows)[:source], np.bincount(columns, products.target_words, target).astype(np.float64))


def _spread(
    side: WordVectors, other: WordVectors, lo: np.ndarray, hi: np.ndarray, products: Products, *, transposed: bool
) -> None:
    """Spread each word of text i over the texts lo[i] to hi[i] of the other side."""
    offsets, columns = side.words.offsets, other.words.offsets
    for start in range(0, len(lo), _BLOCK):
        stop = min(start + _BLOCK, len(lo))
        left, right = int(lo[start]), int(hi[stop - 1])
        x = side.vectors[side.words.ids[offsets[start] : offsets[stop]]]
        y = other.vectors[other.words.ids[columns[left] : columns[max(right, left)]]]
        if not len(x) or not len(y):
            continue
        weights = side.weights[side.words.ids[offsets[start] : offsets[stop]]]
        ends = columns[left : right + 1] - columns[left]
        _attend(x @ y.T, weights, offsets[start : stop + 1], ends, start, left, lo, hi, products, transposed)


@njit(nogil=True, cache=True)
def _attend(
    cosines: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    ends: np.ndarray,
    start: int,
    left: int,
    lo: np.ndarray,
    hi: np.ndarray,
    products: Products,
    transposed: bool,
) -> None:
    likely = np.empty(len(ends))
    for text in range(len(offsets) - 1):
        here = start + text
        for word in range(offsets[text] - offsets[0], offsets[text + 1] - offsets[0]):
            total = np.exp(_SHARPNESS * _ELSEWHERE)
            for j in range(lo[here], hi[here]):
                best = np.float32(-1.0)
                for place in range(ends[j - left], ends[j - left + 1]):
                    best = max(best, cosines[word, place])
                likely[j - left] = np.exp(_SHARPNESS * best)
                total += likely[j - left]
            for j in range(lo[here], hi[here]):
                share = np.float32(weights[word] * likely[j - left] / total)
                if transposed:
                    products.target_words[products.start[j] + here - products.lo[j]] += share
                else:
                    products.source_words[products.start[here] + j - products.lo[here]] += share
