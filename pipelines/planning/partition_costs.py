"""What a partitioned graph takes, from what its steps do: see `graph.partition` and `graph.recall_sample`."""

from __future__ import annotations

from typing import NamedTuple

from mining.cell_keys import KEY_BYTES
from mining.codebook import ITERATIONS, cell_count, compared, compares_all
from pipelines.graph.partition_plan import MemoryBounds
from pipelines.graph.recall_sample import DEPTH, SAMPLE
from pipelines.planning.kernel_rates import Kernels, row_bytes
from pipelines.planning.plan_settings import PlanSettings

_GROUPED = {False: 2.5, True: 4.0}  # times the work of comparing with as many centroids, of groups: one, several
_PASSES = 5  # over the vectors: sample, true neighbours, cells, keys, shards of the graph
_KEPT_OPEN = 4  # vector files: of no more than these there is one pass
_OPENS_A_SHARD = 19  # 5 of vectors; sample, true neighbours and cells written and read; shard, note, what is chosen
_OPENS = 36  # manifests, codebook, the sampled rows of both sides
_KEY_FILE = 1800  # bytes of a key's file beside its neighbours: names and headers of five arrays
_PART = 12  # for each shard that it has rows of
# Times its vectors: joined, as codes with lists, and what the allocator keeps of the key before.
_KEY_MEMORY = 2.0
_SHUFFLED_MEMORY = 1.0  # more, where they come by shard through the shuffle


class PartitionCost(NamedTuple):
    """Seconds of one core, bytes, files opened, and memory beside what the process has when it begins."""

    seconds: float
    read: float
    written: float
    shuffled: float
    opens: float
    memory: float
    keys: float


class _Sizes(NamedTuple):
    """What the steps are given."""

    sides: tuple[float, float]
    shards: float
    dim: int
    k: int
    copies: int
    memory: int
    cells: int
    trained: float  # vectors that the codebook is trained on
    visits: float  # rows in all keys together
    filled: float  # cells of a row, by its copies

    @property
    def rows(self) -> float:
        return sum(self.sides)

    @property
    def key_bytes(self) -> float:
        return min(KEY_BYTES, self.memory / 8)

    @property
    def keys(self) -> float:
        """Each ends where the next cell does not fit any more, half a cell before it is full."""
        whole = self.rows * self.copies * self.filled * row_bytes(self.dim, self.k, self.copies)
        cell = whole / max(self.cells, 1)
        return max(1.0, -(-whole // max(self.key_bytes - cell / 2, cell)))

    @property
    def lists(self) -> float:
        """Bytes of the neighbours, cells and keys of all rows, which one process holds."""
        return self.rows * (12 * self.k + 9 * self.copies + 16) + 4 * self.visits

    @property
    def alone(self) -> bool:
        """What has no room in one process is searched by many, and no file keeps what a key found."""
        return self.rows * one_process_bytes(self.k, self.copies) <= self.memory


def one_process_bytes(k: int, copies: int) -> int:
    """Of a row, as `partition.require_memory` counts them."""
    return 12 * k + 17 * copies + 24


def trained_rows(sides: tuple[float, float], dim: int, settings: PlanSettings) -> int:
    """Vectors that the codebook is trained on."""
    return MemoryBounds.of((int(sides[0]), int(sides[1])), dim, settings.memory).training_rows


def partition_cost(
    sides: tuple[float, float], shards: float, dim: int, kernels: Kernels, settings: PlanSettings
) -> PartitionCost:
    """Without the shards of the graph themselves, whose bytes are those of an exact one."""
    trained = trained_rows(sides, dim, settings)
    cells = min(cell_count(int(sides[0]), int(sides[1])), trained)  # each begins as another vector of the sample
    visits = sum(sides) * kernels.keys_of_row(cells, settings.planned_copies)
    size = _Sizes(
        sides=sides,
        shards=shards,
        dim=dim,
        k=settings.k,
        copies=settings.planned_copies,
        memory=settings.memory,
        cells=cells,
        trained=trained,
        visits=visits,
        filled=kernels.spreads[-1].filled,
    )
    return PartitionCost(
        seconds=_seconds(size, kernels),
        read=_read(size),
        written=_written(size),
        shuffled=visits * (4 * dim + 20 + 5 * size.copies + _found_bytes(size)),
        opens=_OPENS_A_SHARD * shards + _OPENS + (size.keys if size.alone else 0),
        memory=_memory(size),
        keys=size.keys,
    )


def _seconds(size: _Sizes, kernels: Kernels) -> float:
    mean = size.sides[0] * size.sides[1] / size.cells * size.copies**2
    inside = mean * kernels.density(size.cells) / kernels.cells
    nearest, several = (
        compared(size.cells, several=given) * (1.0 if compares_all(size.cells, several=given) else _GROUPED[given])
        for given in (False, True)
    )
    checked = SAMPLE * DEPTH * size.k * size.shards  # neighbours of sampled rows, whose cells are found too
    assigned = (size.rows + checked) * kernels.assigned.seconds(several)
    trained = ITERATIONS * size.trained * kernels.nearest.seconds(nearest)
    passes = _passes(size) * _vector_bytes(size) * kernels.read
    return (
        inside
        + _visiting(size, kernels)
        + assigned
        + trained
        + size.rows * kernels.truth
        + size.cells * kernels.ordered
        + passes
    )


def _visiting(size: _Sizes, kernels: Kernels) -> float:
    """One process tells a key what the keys before found of a row."""
    first = min(size.rows, size.visits) if size.alone else size.visits
    return first * kernels.visit + (size.visits - first) * kernels.again


def _vector_bytes(size: _Sizes) -> float:
    return size.rows * (4 * size.dim + 8)


def _passes(size: _Sizes) -> int:
    return _PASSES if size.shards > _KEPT_OPEN else 1


def _sample_bytes(size: _Sizes) -> float:
    """Of the rows that the codebook is trained on, and of those whose true neighbours are searched."""
    return size.trained * 4 * size.dim + 2 * SAMPLE * (4 * size.dim + 8)


def _truth_bytes(size: _Sizes) -> float:
    """Each shard has its nearest for all sampled rows of the other side, with their cells."""
    return size.shards * SAMPLE * DEPTH * size.k * (12 + 8 * size.copies)


def _found_bytes(size: _Sizes) -> int:
    """Of a row that a key found neighbours for."""
    return 4 + 12 * size.k


def _read(size: _Sizes) -> float:
    vectors = _passes(size) * _vector_bytes(size)
    cells = 2 * 5 * size.copies * size.rows + 4 * size.cells * size.shards
    checked = size.shards * SAMPLE * (4 * size.dim + 8 + 8 + 12 * size.k)
    return vectors + _sample_bytes(size) + _truth_bytes(size) + cells + checked


def _written(size: _Sizes) -> float:
    of_keys = size.visits * _found_bytes(size) + size.keys * (_KEY_FILE + _PART * size.shards)
    found = of_keys if size.alone else 0.0
    checked = 2 * SAMPLE * (4 * size.dim + 16 + 12 * size.k)
    codebook = 4 * (size.dim + 1) * size.cells
    return _sample_bytes(size) + checked + codebook + _truth_bytes(size) + 5 * size.copies * size.rows + found


def _memory(size: _Sizes) -> float:
    """The samples twice while they are joined; later the lists of all rows, and a key."""
    centroids = 4 * size.dim * size.cells
    largest = size.key_bytes / row_bytes(size.dim, size.k, size.copies)  # rows, none of them twice
    times = _KEY_MEMORY if size.alone else _KEY_MEMORY + _SHUFFLED_MEMORY
    key = times * 4 * size.dim * min(largest, size.rows)
    return max(2 * 4 * size.dim * size.trained, key + (size.lists if size.alone else 0.0)) + 2 * centroids
