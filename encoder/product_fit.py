"""Product codes fitted to rows: rotation, code words, lengths."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numba as nb
import numpy as np

from encoder.product_code import CODES, ProductCode

_ROUNDS = 15
_SAMPLE = 1 << 16  # rows that code words are fitted to
_TINY = 1e-20


def fit(rows: np.ndarray, code_bytes: int, *, seed: int = 0, use: np.ndarray | None = None) -> ProductCode:
    """Code `rows` (n, dim) float32; a long row, or one of much `use` (n,), counts for more than another."""
    lengths = np.linalg.norm(rows, axis=1)
    directions = rows / np.maximum(lengths, _TINY)[:, None]
    width = rows.shape[1] // code_bytes
    codes = np.empty((len(rows), code_bytes), np.uint8)
    if not len(rows):
        return ProductCode(codes, np.zeros((code_bytes, CODES, width), np.float32), np.zeros(0, np.float32))
    chosen = np.random.default_rng(seed).permutation(len(rows))[:_SAMPLE]
    weights = lengths[chosen] ** 2 * (1.0 if use is None else use[chosen])
    codebook = np.empty((code_bytes, CODES, width), np.float32)

    def code(number: int) -> None:
        part = np.ascontiguousarray(directions[:, number * width : (number + 1) * width])
        codebook[number] = _code_words(part[chosen], weights, seed + number)
        codes[:, number] = nearest(part, codebook[number])

    with ThreadPoolExecutor(nb.get_num_threads()) as pool:
        list(pool.map(code, range(code_bytes)))
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


def balanced_rotation(tables: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """(old dim, dim) orthonormal columns: the leading principal directions of all rows, in an order that gives every
    2, 4 and 8 neighbours much the same product of variances."""
    moment = sum((table.T @ table).astype(np.float64) for table in tables)
    variance, directions = np.linalg.eigh(moment)
    leading = np.argsort(variance)[::-1][:dim]
    units = [(float(np.log(max(variance[place], _TINY))), [int(place)]) for place in leading]
    for _ in range(3):  # the most with the least, again and again
        units.sort(reverse=True)
        half = len(units) // 2
        pairs = zip(units[:half], reversed(units[half:]), strict=True)
        units = [(one[0] + other[0], one[1] + other[1]) for one, other in pairs]
    order = [place for _, places in units for place in places]
    return directions[:, order].astype(np.float32)
