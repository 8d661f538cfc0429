"""How fast this machine compares vectors of the sample, and how these spread over cells and keys.

Cells of a larger corpus are foreseen by smaller ones: a codebook that is trained on all vectors of the sample, as a
real one is on those of its own, cuts the space as finely as that of a corpus of eight times as many rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mining.cell_keys import KEY_BYTES, group_cells
from mining.codebook import ALL_CELLS, ROWS_A_CELL, SAMPLE_A_CELL, Codebook, train_codebook
from mining.knn import knn_graph
from mining.neighbours import Neighbours
from mining.partition_kernels import absorb
from mining.partitioned import BLOCK_ROWS, KnownScores, key_graph, nearest_of_rows
from mining.row_cells import CellRows, RowCells, cells_of_sides, comparisons
from mining.threads import Threads, thread_pool
from mining.vectors import Vectors, from_array, open_vectors
from pipelines.datasets.manifest import Dataset
from pipelines.graph.recall_sample import DEPTH, SAMPLE
from pipelines.planning.plan_settings import PlanSettings

_CENTROIDS = 1024, ALL_CELLS
_EXACT_ROWS = 32_768  # of a side: some five seconds
_SMALL_KEY = 16  # cells: rows of the sample go to about as many keys of these as rows of a corpus to whole ones
_JITTER = 0.3


class CentroidLine(NamedTuple):
    """Seconds to find the nearest centroids of a vector: some, and so many for each centroid."""

    start: float
    of_centroid: float

    def seconds(self, centroids: float) -> float:
        return self.start + self.of_centroid * centroids


class CellSpread(NamedTuple):
    """How rows lie in so many cells."""

    cells: int
    keys: float  # that a row goes to
    density: float  # comparisons, by those of cells that are all of one size and whose rows all meet
    filled: float  # cells of a row, of as many as there are copies: others are too far out of its way


class Kernels(NamedTuple):
    """Seconds of one core: what a comparison and a row take in each of the searches."""

    exact: float  # comparisons a second, all with all
    cells: float  # comparisons a second inside of cells
    visit: float  # seconds of a row in a key that knows nothing of it yet
    again: float  # in one that knows what other keys found of it
    truth: float  # seconds of a row that is compared with the sampled rows of the other side
    nearest: CentroidLine  # one centroid, as training asks for
    assigned: CentroidLine  # those of all copies
    ordered: float  # seconds of a cell on its way to a key
    read: float  # seconds of a byte of a vector file
    spreads: tuple[CellSpread, CellSpread]  # of fewer and of more cells

    def density(self, cells: float) -> float:
        """As much more with each doubling of the cells."""
        few, many = self.spreads
        of_doubling = (many.density - few.density) / math.log2(many.cells / few.cells)
        return max(many.density / 4, many.density + of_doubling * math.log2(cells / many.cells))

    def keys_of_row(self, cells: float, copies: int) -> float:
        """Of few keys a row goes to most; of many, to those around it, however many there are."""
        few, many = self.spreads
        scale = _saturation(few, many)
        keys = many.keys * math.expm1(-cells / scale) / math.expm1(-many.cells / scale)
        return min(max(keys, 1.0), copies)


def _saturation(few: CellSpread, many: CellSpread) -> float:
    """The cells with which a row goes to 1 - 1/e of the keys that it would go to among endless ones."""
    least, most = few.cells / 32, many.cells * 32
    grown = many.keys / few.keys

    def beyond(scale: float) -> float:
        return math.expm1(-many.cells / scale) / math.expm1(-few.cells / scale) - grown

    if beyond(least) >= 0:
        return least
    return float(brentq(beyond, least, most)) if beyond(most) > 0 else most


class SampleVectors(NamedTuple):
    """The vectors of each side, as they are and of length one, and the seconds that a byte of their files took."""

    sides: list[Vectors]
    units: list[np.ndarray]
    read: float

    @property
    def dim(self) -> int:
        return self.sides[0].dim


def read_sample(datasets: Sequence[Dataset]) -> SampleVectors:
    """Read once, for all that is measured on them."""
    stored: list[list[np.ndarray]] = [[], []]

    def read() -> None:
        for rows, dataset in zip(stored, datasets, strict=True):
            rows += [open_vectors(dataset.place(shard)).stored for shard in dataset.shards]

    taken = processor_seconds(read) / sum(rows.nbytes for side in stored for rows in side)
    sides = [from_array(np.concatenate(rows).astype(np.float32)) for rows in stored]
    return SampleVectors(sides, [side.unit(np.arange(len(side))) for side in sides], taken)


def measure_kernels(sample: SampleVectors, settings: PlanSettings) -> Kernels:
    """On vectors of the sample, with as many threads as a mine has here."""
    sides, units, read = sample
    source, target = sides
    with thread_pool(None) as pool:
        inside = _inside(sides, units, settings, pool)
        nearest, assigned = (
            _centroid_line(np.concatenate(units), count, pool) for count in (1, settings.planned_copies)
        )
        spreads, ordered = _spreads(units, settings, pool)
    sampled = from_array(units[0][:: -(-len(source) // SAMPLE)])
    with thread_pool(None) as pool:
        nearest_of_rows(sampled, target.rows(0, 64), DEPTH * settings.k, pool)  # loads what is compiled
        truth = processor_seconds(lambda: nearest_of_rows(sampled, target, DEPTH * settings.k, pool)) / len(target)
    truth *= SAMPLE / len(sampled)
    many, others = (from_array(jittered(side, _EXACT_ROWS)) for side in units)
    few = _EXACT_ROWS // 4
    knn_graph(many.rows(0, few), others.rows(0, few), settings.k)  # a large search compiles more
    exact = _EXACT_ROWS**2 / processor_seconds(lambda: knn_graph(many, others, settings.k))
    return Kernels(exact, *inside, truth, nearest, assigned, ordered, read, spreads)


class _Inside(NamedTuple):
    cells: float
    visit: float
    again: float


def _inside(sides: Sequence[Vectors], units: Sequence[np.ndarray], settings: PlanSettings, pool: Threads) -> _Inside:
    """Comparisons a second, and seconds of a row in a key: the same cells as one key and as many."""
    sample = np.concatenate(units)
    book = train_codebook(sample, max(2, len(sample) // 2 // ROWS_A_CELL), pool)
    cells = cells_of_sides(book, units, settings.planned_copies, pool)
    one, many = (group_cells(book, np.ones(len(book), np.int64), size, pool) for size in (len(book), _SMALL_KEY))
    searches = [
        _Search(sides, cells, keys, settings.k, told) for keys, told in ((one, False), (many, False), (many, True))
    ]
    for search in searches:
        search.run(pool)  # compiles
    whole, apart, told = (processor_seconds(partial(search.run, pool)) for search in searches)
    once, often = (search.visits for search in searches[:2])
    visit, again = (max(parted - whole, 0.0) / max(often - once, 1) for parted in (apart, told))
    return _Inside(searches[0].comparisons / max(whole - visit * once, whole / 4), visit, again)


class _Search:
    """The rows of each key against each other, as `partition.search_here` does it, or as keys of many workers."""

    def __init__(
        self, sides: Sequence[Vectors], cells: Sequence[RowCells], keys: np.ndarray, k: int, told: bool
    ) -> None:
        self.sides, self.cells, self.keys, self.k, self.told = sides, cells, keys, k, told
        self.visits, self.comparisons = 0, 0

    def run(self, pool: Threads) -> None:
        self.visits, self.comparisons = 0, 0
        own = [np.where(side.cells >= 0, self.keys[side.cells], -1) for side in self.cells]
        best = [Neighbours.none(len(side), self.k) for side in self.sides]
        for key in range(int(self.keys.max()) + 1):
            rows = [np.flatnonzero((keys == key).any(1)) for keys in own]
            parts = [side.take(some) for side, some in zip(self.sides, rows, strict=True)]
            cells = [
                RowCells(np.where(keys[some] == key, all_.cells[some], -1), all_.detours[some])
                for keys, all_, some in zip(own, self.cells, rows, strict=True)
            ]
            known = KnownScores(*(side.scores[some, -1] for side, some in zip(best, rows, strict=True)))
            found = key_graph(parts[0], parts[1], cells[0], cells[1], self.k, pool, known if self.told else None)
            for side, some, part in zip(best, rows, found.graph, strict=True):
                absorb(*side, some, *part)
            self.visits += sum(map(len, rows))
            self.comparisons += found.comparisons


def _centroid_line(rows: np.ndarray, count: int, pool: Threads) -> CentroidLine:
    few, many = (Codebook(jittered(rows, size)) for size in _CENTROIDS)
    taken = []
    for book in (few, many):
        book.nearest(rows[:64], count, pool)  # makes the codes of the centroids
        taken.append(processor_seconds(partial(book.nearest, rows, count, pool)) / len(rows))
    of_centroid = max(taken[1] - taken[0], 0.0) / (len(many) - len(few))
    return CentroidLine(max(taken[0] - of_centroid * len(few), 0.0), of_centroid)


def _spreads(
    units: Sequence[np.ndarray], settings: PlanSettings, pool: Threads
) -> tuple[tuple[CellSpread, CellSpread], float]:
    """Of a quarter of the cells that the sample is enough for, and of all; and the seconds to order a cell."""
    most = max(8, sum(map(len, units)) // SAMPLE_A_CELL)
    spreads, taken = [], 0.0
    for count in (most // 4, most):
        sample = np.concatenate([side[:: max(1, most // count)] for side in units])
        book = train_codebook(sample, count, pool)
        cells = cells_of_sides(book, units, settings.planned_copies, pool)
        begun = time.process_time()
        keys = group_cells(book, np.ones(len(book), np.int64), cells_a_key(units[0].shape[1], settings), pool)
        taken = (time.process_time() - begun) / len(book)
        filled = float(np.mean([(side.cells >= 0).sum(1).mean() for side in cells])) / settings.planned_copies
        density = _density(cells, len(book), settings.planned_copies)
        spreads.append(CellSpread(len(book), _distinct(cells, keys), density, filled))
    return (spreads[0], spreads[1]), taken


def _density(sides: Sequence[RowCells], cells: int, copies: int) -> float:
    """Rows of these small cells come together in blocks that are as large a part of a cell as those of a corpus."""
    source, target = (len(side.cells) for side in sides)
    block = max(1, round(BLOCK_ROWS * source / cells / ROWS_A_CELL))
    found = comparisons(CellRows.of(sides[0]), CellRows.of(sides[1]), block)
    return found * cells / max(source * target * copies**2, 1)


def _distinct(sides: Sequence[RowCells], keys: np.ndarray) -> float:
    """Different keys of a row, on average."""
    found = np.sort(np.concatenate([np.where(side.cells >= 0, keys[side.cells], -1) for side in sides]), axis=1)
    return float(((found[:, 0] >= 0) + ((np.diff(found, axis=1) != 0) & (found[:, 1:] >= 0)).sum(1)).mean())


def row_bytes(dim: int, k: int, copies: int) -> int:
    """Of a vector in each of its cells, as `partition.make_keys` counts them."""
    return 4 * dim + 16 * (k + 4) + 9 * copies


def cells_a_key(dim: int, settings: PlanSettings) -> int:
    """Cells of the mean size that make a key."""
    budget = min(KEY_BYTES, settings.memory // 8)
    rows = 2 * ROWS_A_CELL * settings.planned_copies
    return max(1, int(budget // (rows * row_bytes(dim, settings.k, settings.planned_copies))))


def jittered(rows: np.ndarray, count: int) -> np.ndarray:
    """As many vectors as a search needs to come to its pace, near those there are."""
    chosen = rows[np.arange(count) % len(rows)]
    noise = np.random.default_rng(0).standard_normal(chosen.shape, np.float32)
    return np.asarray(chosen + _JITTER * np.abs(rows).mean() * noise)


def processor_seconds(work: Callable[[], object]) -> float:
    """Of all threads of this process."""
    begun = time.process_time()
    work()
    return max(time.process_time() - begun, 1e-4)
