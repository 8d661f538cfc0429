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

from mining.cell import SLACK, rerank
from mining.codebook import Codebook
from mining.neighbours import KnnGraph
from mining.threads import Threads
from mining.top_k import MISSING, insert, insert_in_order
from mining.vectors import Vectors

COPIES = 8  # cells that a vector goes to
KEY_BYTES = 256 << 20
_LARGEST = 1 << 13  # rows of a side in a cell: eight times the mean of 128 rows in 8 cells each; larger ones are cut
_BLOCK_ROWS = 256
_STRIDE = 64


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
    x, y = (side.unit(np.arange(len(side))) for side in (source, target))
    cells = _spread(rows, columns, pool.count)
    lists = [(_Lists.empty(len(x), k + SLACK), _Lists.empty(len(y), k + SLACK)) for _ in range(pool.count)]
    comparisons = [0] * pool.count

    def work(thread: int, start: int, stop: int) -> None:
        for cell in cells[start:stop].tolist():
            for some_rows, some_columns in _bounded(x, rows.inside(cell), y, columns.inside(cell)):
                comparisons[thread] += len(some_rows) * len(some_columns)
                _compare(x, some_rows, y, some_columns, *lists[thread])

    torch.set_num_threads(1)  # each thread multiplies cells of its own
    pool.over_rows(len(cells), work)
    torch.set_num_threads(pool.count)
    (forward, backward), *others = lists
    for more_forward, more_backward in others:
        _join(forward, more_forward)
        _join(backward, more_backward)
    return KeyGraph(
        KnnGraph(
            rerank(source, target, *forward, k, pool, bound=0.0)[0],
            rerank(target, source, *backward, k, pool, bound=0.0)[0],
        ),
        sum(comparisons),
    )


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


def _compare(
    x: np.ndarray, rows: np.ndarray, y: np.ndarray, columns: np.ndarray, row_lists: _Lists, column_lists: _Lists
) -> None:
    others = torch.from_numpy(y[columns]).T
    cutoffs = column_lists.scores[columns, -1]
    for first in range(0, len(rows), _BLOCK_ROWS):
        some = rows[first : first + _BLOCK_ROWS]
        block = torch.mm(torch.from_numpy(x[some]), others).numpy()
        enter(block, some, columns, *row_lists, *column_lists, cutoffs)


def _bounded(
    x: np.ndarray, rows: np.ndarray, y: np.ndarray, columns: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A cell in parts of at most `_LARGEST` rows a side: halves along the direction in which it is longest.

    Where that separates nothing, as in a million copies of one vector, each half of the rows meets one half of the
    columns: all are equally near.
    """
    if max(len(rows), len(columns)) <= _LARGEST or not len(rows) or not len(columns):
        yield rows, columns
        return
    direction = _longest(np.concatenate([x[rows[:: -(-len(rows) // 500)]], y[columns[:: -(-len(columns) // 500)]]]))
    left, right = x[rows] @ direction, y[columns] @ direction
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
def _insert_once(scores: np.ndarray, places: np.ndarray, score: np.float32, place: int) -> None:
    """Put a score into a descending list, dropping the last, unless its place is there already."""
    if not _holds(places, place):
        insert(scores, places, score, place)


@nb.njit(nogil=True, cache=True, inline="always")
def _holds(places: np.ndarray, place: int) -> bool:
    for slot in range(places.shape[0]):  # noqa: SIM110 - compiled
        if places[slot] == place:
            return True
    return False


@nb.njit(nogil=True, cache=True)
def enter(
    block: np.ndarray,  # (rows, columns) float32 similarities
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,  # (all rows, width) int32
    column_scores: np.ndarray,
    column_places: np.ndarray,
    cutoffs: np.ndarray,  # (columns,) float32: the last score of each column's list
) -> None:
    """Enter every similarity of a block into the lists of its row and of its column, each pair once."""
    last = row_scores.shape[1] - 1
    for i in range(block.shape[0]):
        row = rows[i]
        cutoff = row_scores[row, last]
        for start in range(0, block.shape[1], _STRIDE):
            values = block[i, start : start + _STRIDE]
            lowest = cutoffs[start : start + _STRIDE]
            hits = 0
            for j in range(values.shape[0]):
                hits += (values[j] > cutoff) | (values[j] > lowest[j])
            if hits == 0:
                continue
            for j in range(values.shape[0]):
                column = columns[start + j]
                if values[j] > cutoff:
                    _insert_once(row_scores[row], row_places[row], values[j], column)
                    cutoff = row_scores[row, last]
                if values[j] > lowest[j]:
                    _insert_once(column_scores[column], column_places[column], values[j], row)
                    lowest[j] = column_scores[column, last]


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
