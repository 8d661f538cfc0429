"""The kNN graph from small cells, at a cost that grows linearly with the corpus.

Every vector of both sides goes to its nearest few cells of one codebook; two vectors that share a cell are compared
exactly, and one product fills both directions. Scores are the exact graph's own, bit for bit: only neighbours that
share no cell are missed, and how many is measured. Cells near each other make a *key*: what one worker holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba as nb
import numpy as np
import torch

from mining.bytewise import round_rows
from mining.cell import SLACK, rerank
from mining.codebook import Codebook, multiplies_bytes
from mining.neighbours import KnnGraph, Neighbours
from mining.proposals import error_bound
from mining.threads import Threads
from mining.top_k import MISSING, insert_in_order
from mining.vectors import Vectors

COPIES = 8  # cells that a vector goes to
KEY_BYTES = 256 << 20
_LARGEST = 1 << 13  # rows of a side in a cell: eight times the mean of 128 rows in 8 cells each; larger ones are cut
_BLOCK_ROWS = 512
_DEVIATIONS = 8  # of rounding that are taken for certainty: bytes miss a neighbour by less
_ROUND_ROWS = 1024
_STRIDE = 256
_TILE = 64  # parts of a cell are filled up to a multiple of this: products of few shapes are fast


class CellRows(NamedTuple):
    """Which rows of a side are in which cell: those of the i-th cell are `rows[starts[i] : starts[i + 1]]`."""

    cells: np.ndarray  # (cells,) int32, increasing
    starts: np.ndarray  # (cells + 1,) int64
    rows: np.ndarray  # int32, increasing in each cell

    @classmethod
    def of(cls, assigned: np.ndarray) -> CellRows:
        """From the (rows, copies) cells of each row; negative ones are none."""
        order = np.argsort(assigned, axis=None, kind="stable")
        flat = assigned.ravel()[order]
        first = np.searchsorted(flat, 0)
        cells, starts = np.unique(flat[first:], return_index=True)
        rows = (order[first:] // max(assigned.shape[1], 1)).astype(np.int32)
        return cls(cells, np.append(starts, len(rows)).astype(np.int64), rows)

    def inside(self, cell: int) -> np.ndarray:
        place = int(np.searchsorted(self.cells, cell))
        if place == len(self.cells) or self.cells[place] != cell:
            return self.rows[:0]
        return self.rows[self.starts[place] : self.starts[place + 1]]


class KeyGraph(NamedTuple):
    """The graph of the rows of a key, and what it took."""

    graph: KnnGraph
    comparisons: int


def key_graph(
    source: Vectors, target: Vectors, source_cells: np.ndarray, target_cells: np.ndarray, k: int, pool: Threads
) -> KeyGraph:
    """Neighbours among the vectors that share a cell; the cells are (rows, copies) int32, negative for none."""
    rows, columns = CellRows.of(source_cells), CellRows.of(target_cells)
    x, y = _codes_of(source, pool), _codes_of(target, pool)
    cells = _spread(rows, columns, pool.count)
    width = k + SLACK
    lists = [(_Lists.empty(len(source), width), _Lists.empty(len(target), width)) for _ in range(pool.count)]
    comparisons = [0] * pool.count

    def work(thread: int, start: int, stop: int) -> None:
        for cell in cells[start:stop].tolist():
            for some_rows, some_columns in _bounded(source, rows.inside(cell), target, columns.inside(cell)):
                comparisons[thread] += len(some_rows) * len(some_columns)
                _compare(x, some_rows, y, some_columns, *lists[thread])

    pool.multiply_over_rows(len(cells), work)
    (forward, backward), *others = lists
    for more_forward, more_backward in others:
        _join(forward, more_forward)
        _join(backward, more_backward)
    bound = _DEVIATIONS * float(np.hypot(x.rounding, y.rounding)) + error_bound(source.dim)
    graph = KnnGraph(
        _settled(_Side(source, x, rows), _Side(target, y, columns), forward, k, pool, bound),
        _settled(_Side(target, y, columns), _Side(source, x, rows), backward, k, pool, bound),
    )
    return KeyGraph(graph, sum(comparisons))


class _Side(NamedTuple):
    vectors: Vectors
    coded: _CodedRows
    cells: CellRows


def _settled(x: _Side, y: _Side, lists: _Lists, k: int, pool: Threads, bound: float) -> Neighbours:
    """The best k of the candidates by canonical score; rows whose candidates prove too little are compared again."""
    found, certain = rerank(x.vectors, y.vectors, *lists, k, pool, bound)
    doubtful = np.flatnonzero(~certain).astype(np.int32)
    if len(doubtful):
        again = _compare_again(x, y, doubtful, found.scores[doubtful, -1] - np.float32(bound), k + SLACK, pool)
        found.ids[doubtful], found.scores[doubtful] = rerank(x.vectors.take(doubtful), y.vectors, *again, k, pool, 0)[0]
    return found


def _compare_again(x: _Side, y: _Side, doubtful: np.ndarray, cutoffs: np.ndarray, width: int, pool: Threads) -> _Lists:
    """The best of some rows by float32 products with the columns that reach the cut-off of any of them."""
    number = np.full(len(x.vectors), -1, np.int32)
    number[doubtful] = np.arange(len(doubtful))
    lists = [_Lists.empty(len(doubtful), width) for _ in range(pool.count)]
    cells = _spread(x.cells, y.cells, pool.count)

    def work(thread: int, start: int, stop: int) -> None:
        for cell in cells[start:stop].tolist():
            own = x.cells.inside(cell)
            if (number[own] < 0).all():
                continue
            for rows, columns in _bounded(x.vectors, own, y.vectors, y.cells.inside(cell)):
                some = rows[number[rows] >= 0]
                rough = _similarities(x.coded, some, y.coded, columns)
                near = columns[(rough >= cutoffs[number[some], None]).any(0)]
                others = torch.from_numpy(y.vectors.unit(near)).T
                block = torch.mm(torch.from_numpy(x.vectors.unit(some)), others).numpy()
                ones, never = np.ones(max(block.shape), np.float32), np.full(len(near), np.inf, np.float32)
                enter(block, number[some], ones, near, ones, *lists[thread], *lists[thread], never)

    pool.multiply_over_rows(len(cells), work)
    for more in lists[1:]:
        _join(lists[0], more)
    return lists[0]


def _spread(rows: CellRows, columns: CellRows, threads: int) -> np.ndarray:
    """The cells that both sides have, so that equal shares of them are about equal work."""
    cells, left, right = np.intersect1d(rows.cells, columns.cells, return_indices=True)
    work = np.diff(rows.starts)[left] * np.diff(columns.starts)[right]
    ordered = cells[np.argsort(-work, kind="stable")]
    return np.concatenate([ordered[thread::threads] for thread in range(threads)])


class _Lists(NamedTuple):
    """The best of the other side so far, descending."""

    scores: np.ndarray  # (rows, width) float32
    places: np.ndarray  # (rows, width) int32

    @classmethod
    def empty(cls, rows: int, width: int) -> _Lists:
        return cls(np.full((rows, width), -np.inf, np.float32), np.full((rows, width), MISSING, np.int32))


def _join(lists: _Lists, more: _Lists) -> None:
    """What other threads found of the same rows."""
    absorb(lists.places, lists.scores, np.arange(len(lists.places)), more.places, more.scores)


class _CodedRows(NamedTuple):
    """Vectors as they are multiplied: those of unit length are `codes` times `scales`."""

    codes: np.ndarray  # (rows, dim) int8, or float32 where bytes are not multiplied fast
    scales: np.ndarray  # (rows,) float32
    rounding: float  # the standard deviation of what rounding adds to a product with a unit vector

    def part(self, rows: np.ndarray) -> torch.Tensor:
        """Some rows, and some more that mean nothing."""
        whole = np.zeros((len(rows) + -len(rows) % _TILE, self.codes.shape[1]), self.codes.dtype)
        np.take(self.codes, rows, axis=0, out=whole[: len(rows)])
        return torch.from_numpy(whole)


def _codes_of(vectors: Vectors, pool: Threads) -> _CodedRows:
    """Bytes are multiplied at several times the rate of floats, and propose nearly as well."""
    rows = len(vectors)
    if not multiplies_bytes(vectors.dim):
        return _CodedRows(vectors.unit(np.arange(rows)), np.ones(rows, np.float32), 0.0)
    codes = np.empty((rows, vectors.dim), np.int8)
    scales, lost = np.empty(rows, np.float32), np.empty(rows, np.float32)

    def work(thread: int, start: int, stop: int) -> None:
        for first in range(start, stop, _ROUND_ROWS):
            part = slice(first, min(first + _ROUND_ROWS, stop))
            given = vectors.stored[part].astype(np.float32, copy=False)
            round_rows(given, vectors.inverse_norms[part], codes[part], scales[part], lost[part])

    pool.over_rows(rows, work)
    return _CodedRows(codes, scales, float(np.sqrt(np.mean(lost * lost) / vectors.dim)) if rows else 0.0)


def _compare(
    x: _CodedRows, rows: np.ndarray, y: _CodedRows, columns: np.ndarray, row_lists: _Lists, column_lists: _Lists
) -> None:
    others, scales = y.part(columns).T, y.scales[columns]
    best, places = column_lists.scores[columns], column_lists.places[columns]  # side by side, they stay in the cache
    cutoffs = best[:, -1].copy()
    for first in range(0, len(rows), _BLOCK_ROWS):
        some = rows[first : first + _BLOCK_ROWS]
        products = _multiply(x.part(some), others)[: len(some), : len(columns)]
        enter(products, some, x.scales[some], columns, scales, *row_lists, best, places, cutoffs)
    column_lists.scores[columns], column_lists.places[columns] = best, places


def _multiply(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    return np.asarray((torch._int_mm(x, y) if x.dtype == torch.int8 else torch.mm(x, y)).numpy())


def _similarities(x: _CodedRows, rows: np.ndarray, y: _CodedRows, columns: np.ndarray) -> np.ndarray:
    products = _multiply(x.part(rows), y.part(columns).T)[: len(rows), : len(columns)]
    return np.asarray(products * (x.scales[rows, None] * y.scales[columns]))


def _bounded(x: Vectors, rows: np.ndarray, y: Vectors, columns: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A cell in parts of at most `_LARGEST` rows a side: halves along the direction in which it is longest.

    Where that separates nothing, as in a million copies of one vector, each half of the rows meets one half of the
    columns: all are equally near.
    """
    if max(len(rows), len(columns)) <= _LARGEST or not len(rows) or not len(columns):
        yield rows, columns
        return
    some = x.unit(rows[:: -(-len(rows) // 500)]), y.unit(columns[:: -(-len(columns) // 500)])
    direction = _longest(np.concatenate(some))
    left, right = x.unit(rows) @ direction, y.unit(columns) @ direction
    middle = np.median(np.concatenate([left, right]))
    halves = [(rows[left <= middle], columns[right <= middle]), (rows[left > middle], columns[right > middle])]
    if max(len(halves[0][0]), len(halves[0][1])) == max(len(rows), len(columns)):
        cut = len(rows) // 2, len(columns) // 2
        halves = [(rows[: cut[0]], columns[: cut[1]]), (rows[cut[0] :], columns[cut[1] :])]
    for half in halves:
        yield from _bounded(x, half[0], y, half[1])


def _longest(sample: np.ndarray) -> np.ndarray:
    """The first principal direction."""
    return np.linalg.svd(sample - sample.mean(0), full_matrices=False)[2][0]


@nb.njit(nogil=True, cache=True, inline="always")
def _insert_once(scores: np.ndarray, places: np.ndarray, row: int, score: np.float32, place: int) -> None:
    """Put a score into the descending list of a row, dropping the last, unless its place is there already.

    `top_k.insert` does the same with a list of its own; slices of the lists would take a quarter of this kernel's time.
    """
    for slot in range(places.shape[1]):
        if places[row, slot] == place:
            return
    slot = scores.shape[1] - 1
    while slot > 0 and scores[row, slot - 1] < score:
        scores[row, slot] = scores[row, slot - 1]
        places[row, slot] = places[row, slot - 1]
        slot -= 1
    scores[row, slot] = score
    places[row, slot] = place


@nb.njit(nogil=True, cache=True, inline="always")
def _holds(places: np.ndarray, place: int) -> bool:
    for slot in range(places.shape[0]):  # noqa: SIM110 - compiled
        if places[slot] == place:
            return True
    return False


@nb.njit(nogil=True, cache=True)
def enter(
    block: np.ndarray,  # (rows, columns) products, which become similarities by the scales of row and column
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    row_scales: np.ndarray,  # (rows,) float32
    columns: np.ndarray,  # (columns,) int32
    column_scales: np.ndarray,
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,  # (all rows, width) int32
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
    cutoffs: np.ndarray,  # (columns,) float32: the last score of each column's list
) -> None:
    """Enter every similarity of a block into the lists of its row and of its column, each pair once."""
    last = row_scores.shape[1] - 1
    values = np.empty(_STRIDE, np.float32)
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    for i in range(block.shape[0]):
        row, scale = rows[i], row_scales[i]
        cutoff = row_scores[row, last]
        for start in range(0, block.shape[1], _STRIDE):
            products = block[i, start : start + _STRIDE]
            scales = column_scales[start : start + _STRIDE]
            lowest = cutoffs[start : start + _STRIDE]
            width = products.shape[0]
            for j in range(width):
                values[j] = np.float32(products[j]) * (scale * scales[j])
                hits[j] = (values[j] > cutoff) | (values[j] > lowest[j])
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, width)):
                    if hits[j] == 0:
                        continue
                    if values[j] > cutoff:
                        _insert_once(row_scores, row_places, row, values[j], columns[start + j])
                        cutoff = row_scores[row, last]
                    if values[j] > lowest[j]:
                        _insert_once(column_scores, column_places, start + j, values[j], row)
                        lowest[j] = column_scores[start + j, last]


@nb.njit(nogil=True, cache=True)
def absorb(
    ids: np.ndarray,  # (all rows, k) int64, best first; overwritten
    scores: np.ndarray,  # (all rows, k) float32
    rows: np.ndarray,  # (rows,) which rows the part is of
    part_ids: np.ndarray,  # (rows, k)
    part_scores: np.ndarray,
) -> None:
    """Merge partial lists into whole ones: by score, ties by lowest id, each id once; as `neighbours.merge`."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for slot in range(part_ids.shape[1]):
            found, score = part_ids[i, slot], part_scores[i, slot]
            if found == MISSING:
                break
            if not _holds(ids[row], found):
                insert_in_order(scores[row], ids[row], score, found)


def group_cells(codebook: Codebook, bytes_of_cells: np.ndarray, budget: int) -> np.ndarray:
    """The key of each cell: runs of cells that lie near each other, whose vectors take at most `budget` bytes."""
    order = _path(codebook.centroids)
    keys = np.empty(len(order), np.int32)
    key, filled = 0, 0
    for cell in order.tolist():
        if filled and filled + int(bytes_of_cells[cell]) > budget:
            key, filled = key + 1, 0
        keys[cell] = key
        filled += int(bytes_of_cells[cell])
    return keys


def _path(centroids: np.ndarray) -> np.ndarray:
    """An order of the centroids in which neighbours are near: halves of halves along their longest directions."""
    order = np.arange(len(centroids))
    pending, done = [order], []
    while pending:
        part = pending.pop()
        if len(part) <= 4:
            done.append(part)
            continue
        along = centroids[part] @ _longest(centroids[part[:: -(-len(part) // 1000)]])
        ranked = part[np.argsort(along, kind="stable")]
        pending += [ranked[len(part) // 2 :], ranked[: len(part) // 2]]
    return np.concatenate(done)
