"""The kNN graph from small cells, at a cost that grows linearly with the corpus.

Every vector of both sides goes to its nearest few cells of one codebook; two vectors that share a cell are compared
exactly, and one product fills both directions. Scores are the exact graph's own, bit for bit: only neighbours that
share no cell are missed, and how many is measured. Cells near each other make a *key*: what one worker holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from mining.bytewise import round_rows
from mining.cell import SLACK, rerank
from mining.codebook import Codebook, multiplies_bytes
from mining.neighbours import KnnGraph, Neighbours
from mining.partition_kernels import FloatRows, absorb, enter, enter_rest, settle, sweep_codes
from mining.proposals import empty_lists, error_bound
from mining.threads import Threads
from mining.top_k import MISSING
from mining.vectors import Vectors

COPIES = 8  # cells that a vector goes to
KEY_BYTES = 256 << 20
_LARGEST = 1 << 13  # rows of a side in a cell: eight times the mean of 128 rows in 8 cells each; larger ones are cut
_COPIES_ROWS = 512  # of a side that are compared where all are equally near
_BLOCK_ROWS = 512
_DEVIATIONS = 8  # of rounding that are taken for certainty: bytes miss a neighbour by less
_ROUND_ROWS = 1024
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


class KnownScores(NamedTuple):
    """Of the rows of both sides the k-th score known from elsewhere: what is below it is not wanted."""

    source: np.ndarray  # (rows,) float32, -inf where nothing is known
    target: np.ndarray


def key_graph(
    source: Vectors,
    target: Vectors,
    source_cells: np.ndarray,
    target_cells: np.ndarray,
    k: int,
    pool: Threads,
    known: KnownScores | None = None,
) -> KeyGraph:
    """Neighbours among the vectors that share a cell; the cells are (rows, copies) int32, negative for none."""
    rows, columns = CellRows.of(source_cells), CellRows.of(target_cells)
    x, y = _codes_of(source, pool), _codes_of(target, pool)
    cells = _spread(rows, columns, pool.count)
    known = known or KnownScores(*(np.full(len(side), -np.inf, np.float32) for side in (source, target)))
    lists = [
        (_Lists.above(known.source, k, source.dim), _Lists.above(known.target, k, source.dim))
        for _ in range(pool.count)
    ]
    comparisons = [0] * pool.count

    def work(thread: int, start: int, stop: int) -> None:
        for cell in cells[start:stop].tolist():
            for some_rows, some_columns in _bounded(source, rows.inside(cell), target, columns.inside(cell)):
                comparisons[thread] += len(some_rows) * len(some_columns)
                _compare(x, some_rows, y, some_columns, *lists[thread], k)

    pool.multiply_over_rows(len(cells), work)
    (forward, backward), *others = lists
    for more_forward, more_backward in others:
        _join(forward, more_forward)
        _join(backward, more_backward)
    graph = KnnGraph(_neighbours(source, target, forward, k, pool), _neighbours(target, source, backward, k, pool))
    return KeyGraph(graph, sum(comparisons))


def _neighbours(x: Vectors, y: Vectors, lists: _Lists, k: int, pool: Threads) -> Neighbours:
    """The best k of each row; scores of products of floats become canonical ones before."""
    scores, places, rough = lists
    below = np.maximum.accumulate(places == MISSING, axis=1)  # what is behind a score that was known
    scores[below], places[below] = -np.inf, MISSING
    again = np.flatnonzero(rough)
    proposed = scores[again], places[again]
    rerank(x.take(again), y, *proposed, k, pool, 0)
    scores[again], places[again] = proposed
    ids = np.where(places[:, :k] == MISSING, MISSING, y.ids[places[:, :k]])
    return Neighbours(ids, np.ascontiguousarray(scores[:, :k]))


def nearest_of_rows(source: Vectors, target: Vectors, k: int, pool: Threads) -> Neighbours:
    """The k nearest of a few rows among all of the other side, of which nobody asks the way back.

    A share of the other side for each thread is a cell, and the rows are in all of them.
    """
    if not len(source) or not len(target):
        return Neighbours.none(len(source), k)
    shares = np.arange(pool.count, dtype=np.int32)
    cells = np.tile(shares, (len(source), 1)), np.sort(np.resize(shares, len(target)))[:, None]
    for side, own in zip((source, target), cells, strict=True):
        own[~np.isfinite(side.inverse_norms)] = -1
    known = KnownScores(np.full(len(source), -np.inf, np.float32), np.full(len(target), np.inf, np.float32))
    return key_graph(source, target, *cells, k, pool, known).graph.forward


def _spread(rows: CellRows, columns: CellRows, threads: int) -> np.ndarray:
    """The cells that both sides have, so that equal shares of them are about equal work."""
    cells, left, right = np.intersect1d(rows.cells, columns.cells, return_indices=True)
    work = np.diff(rows.starts)[left] * np.diff(columns.starts)[right]
    ordered = cells[np.argsort(-work, kind="stable")]
    return np.concatenate([ordered[thread::threads] for thread in range(threads)])


class _Lists(NamedTuple):
    """The best of the other side so far, descending, some more than are wanted: products of floats are near a tie."""

    scores: np.ndarray  # (rows, width) float32
    places: np.ndarray  # (rows, width) int32
    rough: np.ndarray  # (rows,) bool: some scores are products of floats, all others canonical

    @classmethod
    def above(cls, known: np.ndarray, k: int, dim: int) -> _Lists:
        """Lists in which k scores, of no place, are just below the known one."""
        scores, places = empty_lists(len(known), k + SLACK)
        scores[:, :k] = (known - np.float32(2 * error_bound(dim)))[:, None]
        return cls(scores, places, np.zeros(len(known), bool))


def _join(lists: _Lists, more: _Lists) -> None:
    """What other threads found of the same rows."""
    absorb(lists.places, lists.scores, np.arange(len(lists.places)), more.places, more.scores)
    lists.rough[:] |= more.rough


class _CodedRows(NamedTuple):
    """Vectors as they are multiplied: those of unit length are `codes` times `scales`."""

    vectors: Vectors
    codes: np.ndarray  # (rows, dim) int8, or float32 where bytes are not multiplied fast
    scales: np.ndarray  # (rows,) float32
    rounding: float  # the standard deviation of what rounding adds to a product with a unit vector

    def part(self, rows: np.ndarray) -> torch.Tensor:
        """Some rows, and some more that mean nothing."""
        whole = np.zeros((len(rows) + -len(rows) % _TILE, self.codes.shape[1]), self.codes.dtype)
        np.take(self.codes, rows, axis=0, out=whole[: len(rows)])
        return torch.from_numpy(whole)

    def floats(self, rows: np.ndarray) -> FloatRows:
        """The vectors that some rows are codes of; half floats are copied."""
        stored, norms = self.vectors.stored, self.vectors.inverse_norms[rows]
        if stored.dtype == np.float32:
            return FloatRows(np.asarray(stored), rows, norms, self.scales[rows])
        copied = stored[rows].astype(np.float32)
        return FloatRows(copied, np.arange(len(rows), dtype=np.int32), norms, self.scales[rows])


def _codes_of(vectors: Vectors, pool: Threads) -> _CodedRows:
    """Bytes are multiplied at several times the rate of floats, and propose nearly as well."""
    rows = len(vectors)
    if not multiplies_bytes(vectors.dim):
        return _CodedRows(vectors, vectors.unit(np.arange(rows)), np.ones(rows, np.float32), 0.0)
    codes = np.empty((rows, vectors.dim), np.int8)
    scales, lost = np.empty(rows, np.float32), np.empty(rows, np.float32)

    def work(thread: int, start: int, stop: int) -> None:
        for first in range(start, stop, _ROUND_ROWS):
            part = slice(first, min(first + _ROUND_ROWS, stop))
            given = vectors.stored[part].astype(np.float32, copy=False)
            round_rows(given, vectors.inverse_norms[part], codes[part], scales[part], lost[part])

    pool.over_rows(rows, work)
    lost = lost[np.isfinite(vectors.inverse_norms)]
    rounding = float(np.sqrt(np.mean(lost * lost) / vectors.dim)) if len(lost) else 0.0
    return _CodedRows(vectors, codes, scales, rounding)


def _compare(
    x: _CodedRows, rows: np.ndarray, y: _CodedRows, columns: np.ndarray, row_lists: _Lists, column_lists: _Lists, k: int
) -> None:
    """Products of bytes tell which pairs are worth a canonical score; where most are, floats are multiplied instead."""
    others, floats = y.part(columns).T, y.floats(columns)
    own = column_lists.scores[columns], column_lists.places[columns]  # side by side, they stay in the cache
    bound = np.float32(_DEVIATIONS * float(np.hypot(x.rounding, y.rounding)) + error_bound(x.vectors.dim))
    for first in range(0, len(rows), _BLOCK_ROWS):
        some = rows[first : first + _BLOCK_ROWS]
        products = _multiply(x.part(some), others)[: len(some), : len(columns)]
        if products.dtype == np.int32:
            if enter_near(products, some, columns, x.floats(some), floats, row_lists[:2], own, k, bound):
                continue
            units = (torch.from_numpy(side) for side in (x.vectors.unit(some), y.vectors.unit(columns).T))
            products = torch.mm(*units).numpy()
        enter(products, some, columns, *row_lists[:2], *own)
        row_lists.rough[some] = column_lists.rough[columns] = True
    column_lists.scores[columns], column_lists.places[columns] = own


def _multiply(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    return np.asarray((torch._int_mm(x, y) if x.dtype == torch.int8 else torch.mm(x, y)).numpy())


def _bounded(x: Vectors, rows: np.ndarray, y: Vectors, columns: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A cell in parts of at most `_LARGEST` rows a side: halves along the direction in which it is longest.

    Where that separates nothing, as in a million copies of one vector, each of many parts of the rows meets one part of
    the columns: all are equally near. Where one side is small it meets all of the other, a part at a time.
    """
    if min(len(rows), len(columns)) <= _LARGEST:
        for first in range(0, len(rows), _LARGEST):
            for other in range(0, len(columns), _LARGEST):
                yield rows[first : first + _LARGEST], columns[other : other + _LARGEST]
        return
    some = x.unit(rows[:: -(-len(rows) // 500)]), y.unit(columns[:: -(-len(columns) // 500)])
    direction = _longest(np.concatenate(some))
    left, right = x.unit(rows) @ direction, y.unit(columns) @ direction
    middle = np.median(np.concatenate([left, right]))
    halves = [(rows[left <= middle], columns[right <= middle]), (rows[left > middle], columns[right > middle])]
    if max(len(halves[0][0]), len(halves[0][1])) == max(len(rows), len(columns)):
        parts = -(-min(len(rows), len(columns)) // _COPIES_ROWS)
        yield from zip(np.array_split(rows, parts), np.array_split(columns, parts), strict=True)
        return
    for half in halves:
        yield from _bounded(x, half[0], y, half[1])


def _longest(sample: np.ndarray) -> np.ndarray:
    """The first principal direction."""
    return np.linalg.svd(sample - sample.mean(0), full_matrices=False)[2][0]


def enter_near(
    products: np.ndarray,  # (rows, columns) int32, of codes
    rows: np.ndarray,
    columns: np.ndarray,
    x: FloatRows,
    y: FloatRows,
    row_lists: tuple[np.ndarray, np.ndarray],  # scores and places of all rows
    column_lists: tuple[np.ndarray, np.ndarray],  # of these columns
    k: int,
    bound: np.float32,  # by how much a product of codes can be too small
) -> bool:
    """Enter what can be among the k best of its row or column, by canonical scores.

    Gives up where these are too many, as among copies of one sentence, and returns whether all is entered.
    """
    near_rows, near_columns = empty_lists(len(rows), k + SLACK), empty_lists(len(columns), k + SLACK)
    row_cutoffs, column_cutoffs = row_lists[0][rows, k - 1] - bound, column_lists[0][:, k - 1] - bound
    sweep_codes(products, x.scales, y.scales, row_cutoffs, column_cutoffs, *near_rows, *near_columns)
    own, rounding = np.arange(len(columns), dtype=np.int32), np.float32(error_bound(x.stored.shape[1]))
    settle(rows, columns, x, y, *near_rows, *row_lists, k, bound, rounding, row_cutoffs)
    settle(own, rows, y, x, *near_columns, *column_lists, k, bound, rounding, column_cutoffs)
    if np.isinf(row_cutoffs).all() and np.isinf(column_cutoffs).all():
        return True
    cutoffs = row_cutoffs, column_cutoffs
    return bool(enter_rest(products, rows, columns, x, y, *row_lists, *column_lists, *cutoffs, k, bound, rounding))


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
