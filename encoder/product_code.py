"""Product quantisation: a row of floats as one byte for each few dimensions (Jégou et al. 2011), and a length.

Directions are coded and lengths kept, since rows differ in length by far more than in anything else. A rotation that
all tables of a model share first gives every byte the same share of the variance (Ge et al. 2013, parametric OPQ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba as nb
import numpy as np

CODES = 256  # of a byte
_ROUNDS = 15
_SAMPLE = 1 << 16  # rows that code words are fitted to
_CHUNK = 8192  # rows decoded at a time, while they fit a cache
_TINY = 1e-20


class ProductCode(NamedTuple):
    """Row `i` is `scales[i]` times the code words `codebook[m, codes[i, m]]` side by side."""

    codes: np.ndarray  # (rows, bytes) uint8
    codebook: np.ndarray  # (bytes, 256, dim / bytes) floats
    scales: np.ndarray  # (rows,) floats

    def rows(self) -> np.ndarray:
        """(rows, dim) float32, as they are remembered."""
        count, code_bytes = self.codes.shape
        width = self.codebook.shape[2]
        words = self.codebook.astype(np.float32).reshape(-1, width)
        scales = self.scales.astype(np.float32)[:, None]
        first = np.arange(code_bytes) * CODES  # of the words of each byte
        rows = np.empty((count, code_bytes * width), np.float32)
        for start in range(0, count, _CHUNK):
            here = slice(start, start + _CHUNK)
            np.take(words, self.codes[here] + first, axis=0, out=rows[here].reshape(-1, code_bytes, width), mode="clip")
            rows[here] *= scales[here]
        return rows


def fit(rows: np.ndarray, code_bytes: int, *, seed: int = 0) -> ProductCode:
    """Code `rows` (n, dim) float32; a long row counts for more than a short one, as it does in a sentence."""
    lengths = np.linalg.norm(rows, axis=1)
    directions = rows / np.maximum(lengths, _TINY)[:, None]
    width = rows.shape[1] // code_bytes
    chosen = np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]
    codes = np.empty((len(rows), code_bytes), np.uint8)
    codebook = np.empty((code_bytes, CODES, width), np.float32)
    for number in range(code_bytes):
        part = np.ascontiguousarray(directions[:, number * width : (number + 1) * width])
        codebook[number] = _code_words(part[chosen], lengths[chosen] ** 2, seed + number)
        codes[:, number] = nearest(part, codebook[number])
    coded = ProductCode(codes, codebook, np.ones(len(rows), np.float32))
    return coded._replace(scales=_best_scales(rows, coded))


def _best_scales(rows: np.ndarray, coded: ProductCode) -> np.ndarray:
    """(rows,) the factors that bring the coded rows nearest to `rows`."""
    scales = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _SAMPLE):
        here = slice(start, start + _SAMPLE)
        plain = coded._replace(codes=coded.codes[here], scales=coded.scales[here]).rows()
        products = np.einsum("nd,nd->n", plain, rows[here])
        scales[here] = products / np.maximum(np.einsum("nd,nd->n", plain, plain), _TINY)
    return scales


def _code_words(part: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
    """(256, width) by weighted k-means; a word that no row is nearest to begins anew at some row."""
    random = np.random.default_rng(seed)
    words = part[random.integers(0, len(part), CODES)].copy()
    for _ in range(_ROUNDS):
        codes = nearest(part, words)
        total = np.bincount(codes, weights, CODES)
        empty = total <= _TINY
        for column in range(part.shape[1]):
            words[:, column] = np.bincount(codes, weights * part[:, column], CODES) / np.maximum(total, _TINY)
        words[empty] = part[random.integers(0, len(part), int(empty.sum()))]
    return words


def nearest(part: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(rows,) uint8: the code word nearest to each row."""
    columns = np.ascontiguousarray(words.T)
    return _nearest(part, columns, np.square(words).sum(1) / 2)


@nb.njit(nogil=True, cache=True, fastmath=True)
def _nearest(part: np.ndarray, columns: np.ndarray, halves: np.ndarray) -> np.ndarray:
    width, count = columns.shape
    found = np.empty(len(part), np.uint8)
    score = np.empty(count, np.float32)
    for row in range(len(part)):
        for word in range(count):
            score[word] = -halves[word]
        for column in range(width):
            value = part[row, column]
            for word in range(count):
                score[word] += value * columns[column, word]
        found[row] = np.argmax(score)
    return found


def balanced_rotation(tables: Sequence[np.ndarray], dim: int, code_bytes: int) -> np.ndarray:
    """(old dim, dim) orthonormal columns: the leading principal directions of all rows, dealt out to bytes evenly."""
    moment = sum((table.T @ table).astype(np.float64) for table in tables)
    variance, directions = np.linalg.eigh(moment)
    leading = np.argsort(variance)[::-1][:dim]
    variance = np.maximum(variance[leading], _TINY)
    width = dim // code_bytes
    places: list[list[int]] = [[] for _ in range(code_bytes)]
    product = np.zeros(code_bytes)
    for place in range(dim):  # from the largest variance on, to the byte with the least so far that has room
        full = np.array([len(own) == width for own in places])
        target = int(np.argmin(np.where(full, np.inf, product)))
        places[target].append(place)
        product[target] += np.log(variance[place] / variance[-1] + 1)
    order = leading[np.concatenate(places).astype(int)]
    return directions[:, order].astype(np.float32)
