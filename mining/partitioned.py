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
from mining.neighbours import KnnGraph
from mining.proposals import error_bound
from mining.threads import Threads
from mining.top_k import MISSING, dot, insert_in_order
from mining.vectors import Vectors

COPIES = 8  # cells that a vector goes to
KEY_BYTES = 256 << 20
_LARGEST = 1 << 13  # rows of a side in a cell: eight times the mean of 128 rows in 8 cells each; larger ones are cut
_BLOCK_ROWS = 512
_DEVIATIONS = 8  # of rounding that are taken for certainty: bytes miss a neighbour by less
_ROUND_ROWS = 1024
_STRIDE = 256
_TOO_MANY = 4  # beyond one in so many pairs a whole product of floats is faster
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
    lists = [(_Lists.empty(len(source), k), _Lists.empty(len(target), k)) for _ in range(pool.count)]
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
    graph = KnnGraph(
        rerank(source, target, *forward, k, pool, 0)[0],
        rerank(target, source, *backward, k, pool, 0)[0],
    )
    return KeyGraph(graph, sum(comparisons))


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

    @classmethod
    def empty(cls, rows: int, k: int) -> _Lists:
        shape = rows, k + SLACK
        return cls(np.full(shape, -np.inf, np.float32), np.full(shape, MISSING, np.int32))


def _join(lists: _Lists, more: _Lists) -> None:
    """What other threads found of the same rows."""
    absorb(lists.places, lists.scores, np.arange(len(lists.places)), more.places, more.scores)


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

    def floats(self, rows: np.ndarray) -> _FloatRows:
        """The vectors that some rows are codes of; half floats are copied."""
        stored, norms = self.vectors.stored, self.vectors.inverse_norms[rows]
        if stored.dtype == np.float32:
            return _FloatRows(np.asarray(stored), rows, norms, self.scales[rows])
        copied = stored[rows].astype(np.float32)
        return _FloatRows(copied, np.arange(len(rows), dtype=np.int32), norms, self.scales[rows])


class _FloatRows(NamedTuple):
    """Vectors as they are stored: the i-th is `stored[places[i]]` times `norms[i]` when of unit length."""

    stored: np.ndarray  # float32
    places: np.ndarray  # (rows,) int32
    norms: np.ndarray  # (rows,) float64
    scales: np.ndarray  # (rows,) float32: of their codes


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
    return _CodedRows(vectors, codes, scales, float(np.sqrt(np.mean(lost * lost) / vectors.dim)) if rows else 0.0)


def _compare(
    x: _CodedRows, rows: np.ndarray, y: _CodedRows, columns: np.ndarray, row_lists: _Lists, column_lists: _Lists, k: int
) -> None:
    """Products of bytes tell which pairs are worth a canonical score; where most are, floats are multiplied instead."""
    others, floats = y.part(columns).T, y.floats(columns)
    own = _Lists(column_lists.scores[columns], column_lists.places[columns])  # side by side, they stay in the cache
    bound = np.float32(_DEVIATIONS * float(np.hypot(x.rounding, y.rounding)) + error_bound(x.vectors.dim))
    for first in range(0, len(rows), _BLOCK_ROWS):
        some = rows[first : first + _BLOCK_ROWS]
        products = _multiply(x.part(some), others)[: len(some), : len(columns)]
        if products.dtype == np.int32:
            if enter_near(products, some, columns, x.floats(some), floats, row_lists, own, k, bound):
                continue
            units = (torch.from_numpy(side) for side in (x.vectors.unit(some), y.vectors.unit(columns).T))
            products = torch.mm(*units).numpy()
        enter(products, some, columns, *row_lists, *own)
    column_lists.scores[columns], column_lists.places[columns] = own


def _multiply(x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
    return np.asarray((torch._int_mm(x, y) if x.dtype == torch.int8 else torch.mm(x, y)).numpy())


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
def _insert(scores: np.ndarray, places: np.ndarray, row: int, score: np.float32, place: int) -> None:
    """Put a score into the list of a row, by score and then by lowest place, dropping the last.

    `top_k.insert_in_order` does the same with a list of its own; slices of the lists would take a quarter of the time.
    """
    slot = scores.shape[1] - 1
    while slot > 0 and (
        scores[row, slot - 1] < score or (scores[row, slot - 1] == score and places[row, slot - 1] > place)
    ):
        scores[row, slot] = scores[row, slot - 1]
        places[row, slot] = places[row, slot - 1]
        slot -= 1
    scores[row, slot] = score
    places[row, slot] = place


@nb.njit(nogil=True, cache=True, inline="always")
def _offer(scores: np.ndarray, places: np.ndarray, row: int, score: np.float32, place: int) -> None:
    """Insert what belongs into the list of a row and is not there."""
    last = scores.shape[1] - 1
    if score < scores[row, last] or (score == scores[row, last] and places[row, last] < place):
        return
    for slot in range(last + 1):
        if places[row, slot] == place:
            return
    _insert(scores, places, row, score, place)


@nb.njit(nogil=True, cache=True, inline="always")
def _holds(places: np.ndarray, place: int) -> bool:
    for slot in range(places.shape[0]):  # noqa: SIM110 - compiled
        if places[slot] == place:
            return True
    return False


@nb.njit(nogil=True, cache=True, fastmath=True)
def _quick_cosine(x: _FloatRows, row: int, y: _FloatRows, column: int) -> np.float32:
    """In float32, at a third of the time."""
    left, right = x.stored[x.places[row]], y.stored[y.places[column]]
    total = np.float32(0)
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total * np.float32(x.norms[row]) * np.float32(y.norms[column])


@nb.njit(nogil=True, cache=True, inline="always")
def _cosine(x: _FloatRows, row: int, y: _FloatRows, column: int) -> np.float32:
    """The canonical one."""
    norms = x.norms[row] * y.norms[column]
    return np.float32(dot(x.stored[x.places[row]], y.stored[y.places[column]]) * norms)


def enter_near(
    products: np.ndarray,  # (rows, columns) int32, of codes
    rows: np.ndarray,
    columns: np.ndarray,
    x: _FloatRows,
    y: _FloatRows,
    row_lists: _Lists,  # of all rows
    column_lists: _Lists,  # of these columns
    k: int,
    bound: np.float32,  # by how much a product of codes can be too small
) -> bool:
    """Enter what can be among the k best of its row or column, by canonical scores.

    Gives up where these are too many, as among copies of one sentence, and returns whether all is entered.
    """
    near_rows, near_columns = _Lists.empty(len(rows), k), _Lists.empty(len(columns), k)
    row_cutoffs, column_cutoffs = row_lists.scores[rows, k - 1] - bound, column_lists.scores[:, k - 1] - bound
    sweep_codes(products, x.scales, y.scales, row_cutoffs, column_cutoffs, *near_rows, *near_columns)
    own, rounding = np.arange(len(columns), dtype=np.int32), np.float32(error_bound(x.stored.shape[1]))
    settle(rows, columns, x, y, *near_rows, *row_lists, k, bound, rounding, row_cutoffs)
    settle(own, rows, y, x, *near_columns, *column_lists, k, bound, rounding, column_cutoffs)
    if np.isinf(row_cutoffs).all() and np.isinf(column_cutoffs).all():
        return True
    cutoffs = row_cutoffs, column_cutoffs
    return bool(enter_rest(products, rows, columns, x, y, *row_lists, *column_lists, *cutoffs, k, bound, rounding))


@nb.njit(nogil=True, cache=True)
def sweep_codes(
    block: np.ndarray,  # (rows, columns) int32 products, which become similarities by the scales of row and column
    row_scales: np.ndarray,  # (rows,) float32
    column_scales: np.ndarray,
    row_cutoffs: np.ndarray,  # (rows,) float32: what is not above them is not wanted
    column_cutoffs: np.ndarray,  # overwritten
    row_scores: np.ndarray,  # (rows, width) float32, descending
    row_places: np.ndarray,  # (rows, width) int32: places in the block
    column_scores: np.ndarray,
    column_places: np.ndarray,
) -> None:
    """The best of each row and of each column of a block."""
    last = row_scores.shape[1] - 1
    values = np.empty(_STRIDE, np.float32)
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    for i in range(block.shape[0]):
        cutoff, scale = row_cutoffs[i], row_scales[i]
        for start in range(0, block.shape[1], _STRIDE):
            products = block[i, start : start + _STRIDE]
            scales = column_scales[start : start + _STRIDE]
            lowest = column_cutoffs[start : start + _STRIDE]
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
                        _insert(row_scores, row_places, i, values[j], start + j)
                        cutoff = max(cutoff, row_scores[i, last])
                    if values[j] > lowest[j]:
                        _insert(column_scores, column_places, start + j, values[j], i)
                        lowest[j] = max(lowest[j], column_scores[start + j, last])


@nb.njit(nogil=True, cache=True)
def settle(
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32: by what name they are entered
    x: _FloatRows,
    y: _FloatRows,
    near_scores: np.ndarray,  # (rows, width): what `sweep_codes` found
    near_places: np.ndarray,
    scores: np.ndarray,  # (all rows, width) float32, descending
    places: np.ndarray,
    k: int,
    bound: np.float32,
    rounding: np.float32,  # of a product of floats
    cutoffs: np.ndarray,  # (rows,) float32: set for rows of which others may be as good, infinite for the rest
) -> None:
    """Enter the best of each row by canonical scores."""
    last = near_scores.shape[1] - 1
    for i in range(rows.shape[0]):
        row = rows[i]
        for slot in range(last + 1):
            if not near_scores[i, slot] > scores[row, k - 1] - bound:
                break
            j = near_places[i, slot]
            if not _holds(places[row], columns[j]) and _quick_cosine(x, i, y, j) > scores[row, k - 1] - rounding:
                _offer(scores, places, row, _cosine(x, i, y, j), columns[j])
        cutoff = scores[row, k - 1] - bound
        cutoffs[i] = cutoff if near_scores[i, last] > cutoff else np.inf


@nb.njit(nogil=True, cache=True)
def enter_rest(
    block: np.ndarray,  # (rows, columns) int32 products
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    x: _FloatRows,
    y: _FloatRows,
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
    row_cutoffs: np.ndarray,  # (rows,) float32: infinite where all is entered
    column_cutoffs: np.ndarray,
    k: int,
    bound: np.float32,
    rounding: np.float32,
) -> bool:
    """Enter all that reaches the cut-offs by canonical scores, unless it is too much."""
    values = np.empty(_STRIDE, np.float32)
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    allowed = block.size // _TOO_MANY
    any_column = (column_cutoffs < np.inf).any()
    for i in range(block.shape[0]):
        cutoff, scale, row = row_cutoffs[i], x.scales[i], rows[i]
        if cutoff == np.inf and not any_column:
            continue
        for start in range(0, block.shape[1], _STRIDE):
            products = block[i, start : start + _STRIDE]
            scales = y.scales[start : start + _STRIDE]
            lowest = column_cutoffs[start : start + _STRIDE]
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
                    allowed -= 1
                    column = start + j
                    quick = _quick_cosine(x, i, y, column) + rounding
                    if not (quick > row_scores[row, k - 1] or quick > column_scores[column, k - 1]):
                        continue
                    score = _cosine(x, i, y, column)
                    _offer(row_scores, row_places, row, score, columns[column])
                    _offer(column_scores, column_places, column, score, row)
                    cutoff = max(cutoff, row_scores[row, k - 1] - bound)
                    lowest[j] = max(lowest[j], column_scores[column, k - 1] - bound)
        if allowed < 0:
            return False
    return True


@nb.njit(nogil=True, cache=True)
def enter(
    block: np.ndarray,  # (rows, columns) float32 similarities
    rows: np.ndarray,  # (rows,) int32: which rows of the lists these are
    columns: np.ndarray,  # (columns,) int32
    row_scores: np.ndarray,  # (all rows, width) float32, descending
    row_places: np.ndarray,  # (all rows, width) int32
    column_scores: np.ndarray,  # (columns, width)
    column_places: np.ndarray,
) -> None:
    """Enter every similarity of a block into the lists of its row and of its column, each pair once."""
    last = row_scores.shape[1] - 1
    hits = np.zeros(_STRIDE, np.uint8)
    eights = hits.view(np.uint64)  # few of them are not zero
    cutoffs = column_scores[:, last].copy()
    for i in range(block.shape[0]):
        row = rows[i]
        cutoff = row_scores[row, last]
        for start in range(0, block.shape[1], _STRIDE):
            values = block[i, start : start + _STRIDE]
            lowest = cutoffs[start : start + _STRIDE]
            width = values.shape[0]
            for j in range(width):
                hits[j] = (values[j] > cutoff) | (values[j] > lowest[j])
            for eight in range((width + 7) // 8):
                if eights[eight] == 0:
                    continue
                for j in range(8 * eight, min(8 * eight + 8, width)):
                    if hits[j] == 0:
                        continue
                    if values[j] > cutoff:
                        _offer(row_scores, row_places, row, values[j], columns[start + j])
                        cutoff = row_scores[row, last]
                    if values[j] > lowest[j]:
                        _offer(column_scores, column_places, start + j, values[j], row)
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
