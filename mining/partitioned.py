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
from mining.cell_keys import longest_direction
from mining.codebook import multiplies_bytes
from mining.neighbours import KnnGraph, Neighbours
from mining.partition_kernels import FloatRows, absorb, enter, enter_codes
from mining.proposals import empty_lists, error_bound
from mining.row_cells import REACH, CellMembers, CellRows, RowCells
from mining.threads import Threads
from mining.top_k import MISSING
from mining.vectors import Vectors

_LARGEST = 1 << 13  # rows of a side in a cell: eight times the mean of 128 rows in 8 cells each; larger ones are cut
_COPIES_ROWS = 512  # of a side that are compared where all are equally near
BLOCK_ROWS, _PANEL_COLUMNS = 256, 2048  # whose products are tested while they are in the cache
_DEVIATIONS = 8  # of rounding that are taken for certainty: bytes miss a neighbour by less
_ROUND_ROWS = 1024
_TILE = 64  # parts of a cell are filled up to a multiple of this: products of few shapes are fast


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
    source_cells: RowCells,
    target_cells: RowCells,
    k: int,
    pool: Threads,
    known: KnownScores | None = None,
) -> KeyGraph:
    """Neighbours among the vectors that meet in a cell."""
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
            for some_rows, some_columns in _bounded(source, rows.members(cell), target, columns.members(cell)):
                comparisons[thread] += _compare(x, some_rows, y, some_columns, *lists[thread], k)

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
    rows, columns = map(RowCells.meeting, cells)
    return key_graph(source, target, rows, columns, k, pool, known).graph.forward


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
        whole = np.empty((len(rows) + -len(rows) % _TILE, self.codes.shape[1]), self.codes.dtype)
        np.take(self.codes, rows, axis=0, out=whole[: len(rows)], mode="clip")  # other modes copy twice
        whole[len(rows) :] = 0
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
    x: _CodedRows,
    rows: CellMembers,
    y: _CodedRows,
    columns: CellMembers,
    row_lists: _Lists,
    column_lists: _Lists,
    k: int,
) -> int:
    """Rows and columns of a cell that meet; returns how many pairs are compared.

    Both come by their detours, so that a block of rows meets the first of the columns.
    """
    bound = np.float32(_DEVIATIONS * float(np.hypot(x.rounding, y.rounding)) + error_bound(x.vectors.dim))
    row_codes, row_floats = x.part(rows.rows), x.floats(rows.rows)
    compared = 0
    for panel in columns.parts(_PANEL_COLUMNS):
        codes, floats = y.part(panel.rows), y.floats(panel.rows)
        own = _Lists(*(column[panel.rows] for column in column_lists))  # side by side, they stay in the cache
        for first in range(0, len(rows.rows), BLOCK_ROWS):
            width = int(np.searchsorted(panel.detours, REACH - int(rows.detours[first]), side="right"))
            if not width:
                break
            block, met = slice(first, first + BLOCK_ROWS), slice(0, width)
            some, others = rows.rows[block], panel.rows[met]
            compared += len(some) * width
            products = _multiply(row_codes[block], codes[: width + -width % _TILE].T)[: len(some)]
            if products.dtype == np.int32:
                if enter_near(
                    products, some, others, row_floats.part(block), floats.part(met), row_lists, own, k, bound
                ):
                    continue
                units = (torch.from_numpy(side) for side in (x.vectors.unit(some), y.vectors.unit(others).T))
                products = torch.mm(*units).numpy()
            enter(products, some, others, *row_lists[:2], *own[:2])
            row_lists.rough[some] = own.rough[met] = True
        for whole, part in zip(column_lists, own, strict=True):
            whole[panel.rows] = part
    return compared


def enter_near(
    products: np.ndarray,  # (rows, columns or more) int32, of codes
    rows: np.ndarray,
    columns: np.ndarray,
    x: FloatRows,
    y: FloatRows,
    row_lists: _Lists,  # of all rows
    column_lists: _Lists,  # of these columns
    k: int,
    bound: np.float32,
) -> bool:
    """Products of bytes tell which pairs are worth a canonical score; where most are, floats are multiplied instead."""
    rounding = np.float32(error_bound(x.stored.shape[1]))
    return bool(enter_codes(products, rows, columns, x, y, *row_lists[:2], *column_lists[:2], k, bound, rounding))


def _multiply(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    return np.asarray((torch._int_mm(x, y) if x.dtype == torch.int8 else torch.mm(x, y)).numpy())


def _bounded(
    x: Vectors, rows: CellMembers, y: Vectors, columns: CellMembers
) -> Iterator[tuple[CellMembers, CellMembers]]:
    """A cell in parts of at most `_LARGEST` rows a side: halves along the direction in which it is longest.

    Where that separates nothing, as in a million copies of one vector, each of many parts of the rows meets one part of
    the columns: all are equally near. Where one side is small it meets all of the other, a part at a time.
    """
    sizes = len(rows.rows), len(columns.rows)
    if min(sizes) <= _LARGEST:
        for some_rows in rows.parts(_LARGEST):
            for some_columns in columns.parts(_LARGEST):
                yield some_rows, some_columns
        return
    some = x.unit(rows.rows[:: -(-sizes[0] // 500)]), y.unit(columns.rows[:: -(-sizes[1] // 500)])
    direction = longest_direction(np.concatenate(some))
    left, right = x.unit(rows.rows) @ direction, y.unit(columns.rows) @ direction
    middle = np.median(np.concatenate([left, right]))
    low = rows.take(left <= middle), columns.take(right <= middle)
    if max(len(low[0].rows), len(low[1].rows)) == max(sizes):
        parts = -(-min(sizes) // _COPIES_ROWS)
        split = [
            [side.take(part) for part in np.array_split(np.arange(len(side.rows)), parts)] for side in (rows, columns)
        ]
        yield from zip(*split, strict=True)
        return
    yield from _bounded(x, low[0], y, low[1])
    yield from _bounded(x, rows.take(left > middle), y, columns.take(right > middle))
