"""Where the words of a sentence lie in the other document, by vectors of single words.

Each word's weight is spread over the sentences of the other document that are near, by how like its best match in
each of them is (a softmax of MaxSim, see `mining.scoring.maxsim`). What of it falls inside a bead adds up over its
pairs of sentences, so that spans cost nothing more.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mining.alignment_band import Band, Products
from mining.scoring.maxsim import WordVectors
from mining.scoring.words import Words

_SHARPNESS = 20.0  # of 10, 20 and 30 the likeliest on the development article, by little
_BLOCK = 32  # sentences whose words are multiplied at a time
_DIM = 64


def word_vectors(words: Words, vectors: NDArray[np.float32]) -> WordVectors:
    """`vectors` has a row for each distinct word; rare words weigh more."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return WordVectors(words, np.ascontiguousarray(vectors / lengths, np.float32), np.maximum(words.idf(), 0.0))


def project_words(sides: tuple[WordVectors, WordVectors]) -> tuple[WordVectors, WordVectors]:
    """Both sides in the directions in which words differ most: the cosines hardly change, and cost a quarter."""
    if sides[0].vectors.shape[1] <= _DIM:
        return sides
    square = sum(side.vectors.T.astype(np.float64) @ side.vectors for side in sides)
    directions = np.linalg.eigh(square)[1][:, -_DIM:].astype(np.float32)
    first, second = (word_vectors(side.words, side.vectors @ directions) for side in sides)
    return first, second


def of_document(side: WordVectors, start: int, stop: int) -> WordVectors:
    """The words of the texts from `start` to `stop`."""
    words = side.words
    offsets = words.offsets[start : stop + 1]
    ids = words.ids[offsets[0] : offsets[-1]]
    return side._replace(words=Words(ids, offsets - offsets[0], words.hashes, words.vocabulary))


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
            total = 0.0
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
