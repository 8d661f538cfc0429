"""A partitioned graph step by step: sample, codebook, true neighbours of a few rows, cells of every row, keys, search.

Each step leaves a file in the scratch folder and finds it there again, so that a killed run goes on where it was. No
step reads more than its own shard and files whose size does not depend on the other shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mining.allocator import freed_memory_kept
from mining.cell_keys import group_cells
from mining.errors import InputError
from mining.neighbours import Neighbours
from mining.partition_kernels import absorb
from mining.partitioned import KnownScores, key_graph
from mining.paths import exists, resolve
from mining.row_cells import CellRows, RowCells
from mining.threads import thread_pool
from mining.vectors import Vectors, taken_vectors
from pipelines.graph.graph_shards import DIRECTIONS, MergedShard, finished_shard, write_shard
from pipelines.graph.partition_plan import Item, Partition, codebook_of, items, load_arrays, place, save_arrays
from pipelines.graph.recall_sample import check_sample, choose_copies, draw_sample, find_truth, train
from pipelines.graph.vector_sides import lots_of, opened
from pipelines.runners.progress import Phase

_SALT = 4  # the draw of `lots_of` that deals the rows of a large cell out to keys


def assign(item: Item, partition: Partition) -> np.ndarray:
    """The cells of each row of a shard, none for rows without direction; returns the rows in each cell."""
    url = partition.file("assigned", *place(item))
    codebook = codebook_of(partition)
    if not exists(url):
        vectors, choice = opened(item.shard), choose_copies(partition)
        shape = len(vectors), min(choice.copies, len(codebook))
        found = RowCells(np.full(shape, -1, np.int32), np.zeros(shape, np.uint8))
        usable = np.flatnonzero(np.isfinite(vectors.inverse_norms))
        with thread_pool(partition.threads) as pool:
            for first in range(0, len(usable), 1 << 16):
                rows = usable[first : first + (1 << 16)]
                near = codebook.near(vectors.unit(rows), shape[1], pool)
                found.cells[rows], found.detours[rows] = RowCells.of(near, choice.copies, choice.spacing, len(codebook))
        save_arrays(url, cells=found.cells, detours=found.detours)
    cells = assigned(partition, item).cells
    return np.bincount(cells[cells >= 0], minlength=len(codebook))


def make_keys(partition: Partition, counts: np.ndarray) -> None:
    """Which key each cell belongs to, from the rows of both sides in each cell; one too large for a key has several."""
    url = partition.work.scratch("keys.npz")
    if exists(url) or not len(counts):
        return
    codebook = codebook_of(partition)
    row_bytes = 4 * codebook.centroids.shape[1] + 16 * (partition.k + 4) + 9 * choose_copies(partition).copies
    sizes, budget = counts * row_bytes, partition.bounds.key_bytes
    with thread_pool(partition.threads) as pool:
        keys = group_cells(codebook, sizes, budget, pool)
    save_arrays(url, keys=keys, salts=np.maximum(1, -(-sizes // budget)))


class CellKeys(NamedTuple):
    """The key of each cell, and how many keys its rows are dealt out to: each meets those of its own key only.

    So large a cell is one of copies, or nearly so, and any of them will do.
    """

    keys: np.ndarray  # (cells,)
    salts: np.ndarray  # (cells,): 1 but for cells that alone are too large for a key

    @classmethod
    def of(cls, partition: Partition) -> CellKeys:
        saved = load_arrays(partition.work.scratch("keys.npz"))
        return cls(saved["keys"], saved["salts"])

    @property
    def total(self) -> int:
        return int(self.keys.max()) + 1 + int((self.salts - 1).sum())

    def of_rows(self, ids: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The key of each row in each of its cells (rows, copies), negative for none."""
        keys = self.keys[cells]
        if self.salts.max() > 1:  # in each of its cells a row draws anew
            lots = lots_of(ids[:, None] + (cells.astype(np.int64) << 40), _SALT)
            keys = keys + (lots * self.salts[cells]).astype(np.int32) * (self.keys.max() + 1)
        return np.where(cells >= 0, keys, -1).astype(np.int32)


class KeyRows(NamedTuple):
    """The vectors of one shard that go to one key, and their cells there."""

    item: Item
    rows: np.ndarray  # row numbers in the shard
    ids: np.ndarray
    stored: np.ndarray
    inverse_norms: np.ndarray
    cells: np.ndarray  # (rows, copies), negative for those of other keys
    detours: np.ndarray  # (rows, copies) uint8


class Routing(NamedTuple):
    """The keys of a shard's rows."""

    item: Item
    vectors: Vectors
    cells: RowCells
    keys: np.ndarray  # (rows, copies)
    by_key: CellRows

    @classmethod
    def of(cls, item: Item, partition: Partition) -> Routing:
        cells = assigned(partition, item)
        vectors = opened(item.shard)
        keys = CellKeys.of(partition).of_rows(vectors.ids, cells.cells)
        ordered = np.sort(keys, axis=1)
        ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1  # a row goes to a key once
        return cls(item, vectors, cells, keys, CellRows.of(RowCells.meeting(ordered)))

    def rows_of(self, key: int) -> KeyRows:
        rows = self.by_key.inside(key)
        vectors = self.vectors.take(rows)
        return KeyRows(self.item, rows, vectors.ids, vectors.stored, vectors.inverse_norms, *self.cells_in(key, rows))

    def cells_in(self, key: int, rows: np.ndarray) -> RowCells:
        own = self.cells.take(rows)
        return RowCells(np.where(self.keys[rows] == key, own.cells, -1), own.detours)


class KeySide(NamedTuple):
    """The vectors of one side that meet in a key, shard after shard, and their cells there."""

    parts: list[tuple[Item, np.ndarray]]  # the shards, and the row numbers in each
    vectors: Vectors
    cells: RowCells  # negative for those of other keys


def joined_sides(given: Sequence[KeyRows]) -> list[KeySide]:
    """Of rows that were shuffled, in whatever order they come; a side without any is left out."""
    sides = []
    for side in DIRECTIONS:
        parts = sorted((part for part in given if part.item.side == side), key=lambda part: part.item.shard.number)
        if parts:
            columns = zip(*(part[2:] for part in parts), strict=True)
            ids, stored, inverse_norms, *cells = (np.concatenate(column) for column in columns)
            vectors = Vectors("key", ids, stored, inverse_norms, {})
            sides.append(KeySide([(part.item, part.rows) for part in parts], vectors, RowCells(*cells)))
    return sides


def gathered_sides(key: int, routings: Sequence[Routing]) -> list[KeySide]:
    """Of rows where they lie, each copied once; a side without any is left out."""
    sides = []
    for side in DIRECTIONS:
        all_rows = ((routing, routing.by_key.inside(key)) for routing in routings if routing.item.side == side)
        own = [(routing, rows) for routing, rows in all_rows if len(rows)]
        if own:
            parts = zip(*(routing.cells_in(key, rows) for routing, rows in own), strict=True)
            cells = RowCells(*(np.concatenate(part) for part in parts))
            vectors = taken_vectors([(routing.vectors, rows) for routing, rows in own])
            sides.append(KeySide([(routing.item, rows) for routing, rows in own], vectors, cells))
    return sides


class FoundNeighbours(NamedTuple):
    """Neighbours that a key found for some rows of a shard."""

    rows: np.ndarray
    found: Neighbours


class Found(NamedTuple):
    parts: list[tuple[Item, FoundNeighbours]]
    comparisons: int


def search_key(
    sides: Sequence[KeySide], partition: Partition, so_far: Mapping[Item, Neighbours] | None = None
) -> Found:
    """All vectors of a key against each other; where one side has none, nothing is found.

    Where other keys were searched before, only what is as good as the neighbours `so_far`.
    """
    if len(sides) < len(DIRECTIONS):
        return Found([], 0)
    source, target = sides
    with thread_pool(partition.threads) as pool:
        known = None if so_far is None else KnownScores(*(_known(side, so_far) for side in sides))
        result = key_graph(source.vectors, target.vectors, source.cells, target.cells, partition.k, pool, known)
    found: list[tuple[Item, FoundNeighbours]] = []
    for side, near in zip(sides, result.graph, strict=True):
        ends = np.cumsum([len(rows) for _, rows in side.parts])
        for (item, rows), end in zip(side.parts, ends.tolist(), strict=True):
            own = slice(end - len(rows), end)
            found.append((item, FoundNeighbours(rows, Neighbours(near.ids[own], near.scores[own]))))
    return Found(found, result.comparisons)


def searched(key: int, routings: Sequence[Routing], partition: Partition, so_far: Mapping[Item, Neighbours]) -> Found:
    """`search_key` of rows that are at hand, or its file of an earlier run."""
    url = partition.work.scratch("found", f"{key:06d}.npz")
    if not exists(url):
        found = search_key(gathered_sides(key, routings), partition, so_far)
        _save_found(url, found, partition.k)
        return found
    return _load_found(url, [routing.item for routing in routings])


def _save_found(url: str, found: Found, k: int) -> None:
    """All shards behind each other: an array of its own takes 350 bytes, times all keys and shards."""
    about = [(DIRECTIONS.index(item.side), item.shard.number, len(part.rows)) for item, part in found.parts]
    nothing = Neighbours.none(0, k)
    save_arrays(
        url,
        comparisons=np.array(found.comparisons),
        parts=np.array(about, np.int32).reshape(-1, 3),
        rows=np.concatenate([np.empty(0, np.int32), *(part.rows for _, part in found.parts)]),
        ids=np.concatenate([nothing.ids, *(part.found.ids for _, part in found.parts)]),
        scores=np.concatenate([nothing.scores, *(part.found.scores for _, part in found.parts)]),
    )


def _load_found(url: str, every: Sequence[Item]) -> Found:
    saved, by_place = load_arrays(url), {place(item): item for item in every}
    parts, first = [], 0
    for side, number, count in saved["parts"].tolist():
        own = slice(first, first + count)
        near = Neighbours(saved["ids"][own], saved["scores"][own])
        parts.append((by_place[DIRECTIONS[side], number], FoundNeighbours(saved["rows"][own], near)))
        first += count
    return Found(parts, int(saved["comparisons"]))


def sum_counts(counts: Iterable[np.ndarray]) -> np.ndarray:
    """Rows of each cell over all shards; of no shard, no cells."""
    total: np.ndarray = np.zeros(0, np.int64)
    for one in counts:
        total = total + one if len(total) and len(one) else one if len(one) else total
    return total


def write_found(item: Item, found: Neighbours, partition: Partition) -> MergedShard:
    work, number = partition.work, item.shard.number
    done = finished_shard(work, item.side, number)
    if done is not None:
        return done
    index = number if item.side == "forward" else number + len(partition.source)
    check = check_sample(item, found, partition)
    return write_shard(work, item.side, number, index, opened(item.shard).ids, found, check)


def progress(partition: Partition) -> list[Phase]:
    """Shards that have their cells, then keys that are searched; on a cluster the engine itself shows the latter."""
    work, every = partition.work, items(partition)
    keys = work.scratch("keys.npz")
    if not exists(keys):
        done = [item for item in every if exists(partition.file("assigned", *place(item)))]
        return [Phase("cells", len(done), len(every), sum(item.shard.rows for item in done), "shards")]
    try:
        total = CellKeys.of(partition).total
    except FileNotFoundError:  # complete in this moment, and the scratch files are gone
        return []
    filesystem, path = resolve(work.scratch("found"))
    filesystem.invalidate_cache()
    done_keys = len(filesystem.ls(path, detail=False)) if filesystem.isdir(path) else 0
    rows = sum(item.shard.rows for item in every)
    return [Phase("graph", done_keys, total, rows * done_keys // total, "keys")]


def assigned(partition: Partition, item: Item) -> RowCells:
    return RowCells(**load_arrays(partition.file("assigned", *place(item))))


def _known(side: KeySide, so_far: Mapping[Item, Neighbours]) -> np.ndarray:
    """The k-th score of each row."""
    return np.concatenate([so_far[item].scores[rows, -1] for item, rows in side.parts])


def require_memory(partition: Partition, copies: int) -> None:
    """Refuse what one process cannot hold: neighbours and cells of all rows, and a key with what is made of it."""
    rows = partition.rows("forward") + partition.rows("backward")
    centroids = 4 * partition.dim * len(codebook_of(partition))
    needed = rows * (12 * partition.k + 17 * copies + 24) + 2 * centroids + 4 * partition.bounds.key_bytes
    if needed > partition.memory:
        raise InputError(
            f"a partitioned search of {rows:,} vectors in {copies} cells each takes {-(-needed >> 20)}MiB in one "
            "process; raise --memory to that, or give --runner a cluster",
            code="T08",
        )


def search_here(partition: Partition) -> list[MergedShard]:
    """What `PartitionedGraph` does, in this process: vectors are read where they lie, a key at a time."""
    every = items(partition)
    for item in every:
        draw_sample(item, partition)
    train(partition)
    for item in every:
        find_truth(item, partition)
    require_memory(partition, choose_copies(partition).copies)
    make_keys(partition, sum_counts(assign(item, partition) for item in every))
    routings = [Routing.of(item, partition) for item in every]
    whole = {item: Neighbours.none(item.shard.rows, partition.k) for item in every}
    with freed_memory_kept():
        for key in sorted({key for routing in routings for key in routing.by_key.cells.tolist()}):
            for item, part in searched(key, routings, partition, whole).parts:
                absorb(*whole[item], part.rows, *part.found)
    return [write_found(item, whole[item], partition) for item in every]
