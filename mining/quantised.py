"""The exact graph of a cell from int8 products, which run several times as fast as float32 ones.

A unit vector is held as int8 codes times a scale; what rounding took away has a known length r. By Cauchy-Schwarz the
product of two such vectors is within r + s + rs of their cosine: a bound that needs no assumption. Whatever it does not
rule out gets its canonical cosine, so the graph is the one that float32 products give, bit for bit. Vectors that round
badly (a few large dimensions, a common direction) leave too much: then this pass gives up after a block or so.
"""

from __future__ import annotations

import numpy as np
import torch

from mining.bytewise import (
    LOWEST,
    CandidateEdges,
    ColumnView,
    SearchSide,
    agree,
    collect,
    group_by,
    prune,
    rescore,
    round_rows,
    seed_columns,
    seed_rows,
)
from mining.neighbours import KnnGraph, Neighbours
from mining.proposals import Blocks, error_bound
from mining.threads import Threads
from mining.top_k import MISSING
from mining.vectors import Vectors

_LEAST_ROWS = 2048  # below, cut-offs are too weak to rule much out, and float32 is fast enough
_MOST_NEIGHBOURS = 32
_CANDIDATE_BYTES = 28  # row, column and score, and its number in the orders by row and by column
_ROUND_ROWS = 1024
_COARSE_SHARE = 0.5  # of the room for candidates: where more are left, cosines are worth their time
_MOST_COLUMNS = 1024  # of a product: wider ones leave the cache before their rows are looked through


def int8_is_fast() -> bool:
    """Whether this CPU multiplies bytes in hardware and torch makes use of it."""
    return torch.backends.mkldnn.is_available() and torch.cpu._is_vnni_supported()


def quantised_cell(source: Vectors, target: Vectors, k: int, blocks: Blocks, pool: Threads) -> KnnGraph | None:
    """The exact graph, or None where int8 leaves too many candidates. Takes no more memory than float32 panels.

    Cut-offs rise by what cosines are at least, which is at hand; where that leaves too many, by cosines themselves.
    """
    blocks = Blocks(blocks.rows, min(blocks.columns, _MOST_COLUMNS))
    for by_cosines in (False, True):
        rows, columns = _side(source, k), _side(target, k)
        if min(len(rows.places), len(columns.places)) < _LEAST_ROWS or k > _MOST_NEIGHBOURS:
            return None
        graph = _searched(_Search(source, rows, target, columns, blocks, pool, by_cosines), blocks)
        if graph is not None:
            return graph
    return None


def _searched(search: _Search, blocks: Blocks) -> KnnGraph | None:
    """All blocks, or None where there are too many candidates."""
    height, width = search.shape
    for top in range(0, height, blocks.rows):
        rows = search.begin_rows(top)
        for left in range(0, width, blocks.columns):
            if not search.block(top, rows, left, min(blocks.columns, width - left)):
                return None
    return search.rescored()


def _side(vectors: Vectors, k: int) -> SearchSide:
    """Nothing known yet; rows kept out of the graph are left out."""
    places = np.flatnonzero(np.isfinite(vectors.inverse_norms)).astype(np.int32)
    stored = np.asarray(vectors.stored)
    return SearchSide(
        stored=stored if stored.dtype == np.float32 else stored.view(np.uint16),
        inverse=vectors.inverse_norms,
        places=places,
        scales=np.zeros(len(places), np.float32),
        bounds=np.zeros(len(places), np.float32),
        tops=np.full((len(places), k), LOWEST),
        cutoffs=np.full(len(places), LOWEST),
    )


class _Search:
    """One pass over the blocks of a cell: cut-offs rise, candidates gather, and are rescored at the end."""

    def __init__(
        self,
        source: Vectors,
        rows: SearchSide,
        target: Vectors,
        columns: SearchSide,
        blocks: Blocks,
        pool: Threads,
        by_cosines: bool,
    ) -> None:
        self._source, self._rows, self._target, self._columns, self._pool = source, rows, target, columns, pool
        self._by_cosines = by_cosines
        self.shape = len(rows.places), len(columns.places)
        self._slack = np.float32(error_bound(source.dim))
        height, width = min(blocks.rows, len(rows.places)), min(blocks.columns, len(columns.places))
        self._row_codes = torch.empty((height, source.dim), dtype=torch.int8)
        self._column_codes = torch.empty((len(columns.places), source.dim), dtype=torch.int8)
        _round(target, columns, 0, self._column_codes, pool)
        self._product = torch.empty(height * width, dtype=torch.int32)
        self._views = ColumnView(
            np.full((pool.count, *columns.tops.shape), LOWEST), np.full((pool.count, len(columns.places)), LOWEST)
        )
        # Float32 panels, which `knn.plan_cells` makes room for, would take so much more than the codes.
        capacity = 7 * source.dim * len(columns.places) // _CANDIDATE_BYTES // pool.count
        shape = pool.count, capacity
        self._lists = CandidateEdges(np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, np.float32))
        self._counts = np.zeros(pool.count, np.int64)

    def begin_rows(self, top: int) -> int:
        """Round the next rows; how many there are."""
        height = min(len(self._row_codes), len(self._rows.places) - top)
        _round(self._source, self._rows, top, self._row_codes[:height], self._pool)
        return height

    def block(self, top: int, height: int, left: int, width: int) -> bool:
        """Multiply one block and gather its candidates; False when they are too many."""
        product = self._product[: height * width].view(height, width)
        torch._int_mm(self._row_codes[:height], self._column_codes[left : left + width].T, out=product)
        block = product.numpy()
        room = [True] * self._pool.count

        def first_of_rows(thread: int, start: int, stop: int) -> None:
            seed_rows(block[start:stop], self._rows, top + start, self._columns, left)

        def first_of_columns(thread: int, start: int, stop: int) -> None:
            seed_columns(block[:, start:stop], self._rows, top, self._columns, left + start)

        def candidates(thread: int, start: int, stop: int) -> None:
            room[thread] = self._gather(thread, block[start:stop], top + start, left)

        def united(thread: int, start: int, stop: int) -> None:
            agree(*self._views, self._columns, left + start, left + stop)

        if left == 0:
            self._pool.over_rows(height, first_of_rows)
        if top == 0:
            self._pool.over_rows(width, first_of_columns)
            self._views.cutoffs[:, left : left + width] = self._columns.cutoffs[left : left + width]
        self._pool.over_rows(height, candidates)
        self._pool.over_rows(width, united)
        return all(room)

    def _gather(self, thread: int, block: np.ndarray, top: int, left: int) -> bool:
        """Append a thread's candidates of a block; False when there is no room for them."""
        found, row = CandidateEdges(*(lists[thread] for lists in self._lists)), 0
        view = ColumnView(*(views[thread] for views in self._views))
        while row < len(block):
            places = row, self._rows, top, self._columns, left
            row, count = collect(block, *places, view, self._by_cosines, self._slack, found, self._counts[thread])
            if row < len(block):
                count = prune(found, count, self._rows, self._columns)
                if count + 2 * block.shape[1] > len(found.rows) * (1 if self._by_cosines else _COARSE_SHARE):
                    return False
            self._counts[thread] = count
        return True

    def rescored(self) -> KnnGraph:
        """Canonical neighbours of both sides from the candidates."""
        del self._row_codes, self._column_codes, self._product, self._views
        by_row, by_column = self._lists, CandidateEdges(self._lists.columns, self._lists.rows, self._lists.scores)
        return KnnGraph(
            self._rescore(by_row, self._source, self._rows, self._target, self._columns),
            self._rescore(by_column, self._target, self._columns, self._source, self._rows),
        )

    def _rescore(
        self, lists: CandidateEdges, x: Vectors, side: SearchSide, y: Vectors, other: SearchSide
    ) -> Neighbours:
        """The neighbours of the side that the candidates' `rows` are of."""
        starts, order = group_by(lists.rows, lists.columns, lists.scores, self._counts, side, other)
        scores = np.full(side.tops.shape, -np.inf, np.float32)
        places = np.full(side.tops.shape, MISSING, np.int32)

        def work(thread: int, start: int, stop: int) -> None:
            flat = lists.columns.ravel(), lists.scores.ravel()
            rescore(side, other, starts, order, *flat, start, stop, self._slack, scores, places)

        self._pool.over_rows(len(side.places), work)
        best = Neighbours.none(len(x), side.tops.shape[1])
        best.scores[side.places] = scores
        best.ids[side.places] = np.where(places == MISSING, MISSING, y.ids[places])
        return best


def _round(vectors: Vectors, side: SearchSide, first: int, codes: torch.Tensor, pool: Threads) -> None:
    """Write the codes of a side's rows from `first` on, and note their scales and error bounds."""
    slack = error_bound(vectors.dim) / 2

    def work(thread: int, start: int, stop: int) -> None:
        for begin in range(start, stop, _ROUND_ROWS):
            end = min(begin + _ROUND_ROWS, stop)
            part = slice(first + begin, first + end)
            places = side.places[part]
            rows = vectors.stored[_as_slice(places)].astype(np.float32, copy=False)
            lost = side.bounds[part]
            round_rows(rows, side.inverse[places], codes[begin:end].numpy(), side.scales[part], lost)
            lost += lost**2 / 2 + slack  # rs <= rr / 2 + ss / 2, so that the bound is a sum of one term from each

    pool.over_rows(len(codes), work)


def _as_slice(places: np.ndarray) -> np.ndarray | slice:
    """Rows that follow each other as a slice, which copies nothing."""
    following = len(places) > 0 and places[-1] - places[0] + 1 == len(places)
    return slice(int(places[0]), int(places[-1]) + 1) if following else places
