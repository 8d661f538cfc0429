"""A partitioned graph step by step: sample, codebook, true neighbours of a few rows, cells of every row, keys, search.

Each step leaves a file in the scratch folder and finds it there again, so that a killed run goes on where it was. No
step reads more than its own shard and files whose size does not depend on the other shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mining.codebook import SAMPLE_A_CELL, Codebook, cell_count, train_codebook
from mining.errors import InputError
from mining.files import atomic_writer
from mining.knn import knn_graph, require_fit
from mining.neighbours import Neighbours, merge
from mining.partitioned import COPIES, KEY_BYTES, CellRows, absorb, group_cells, key_graph
from mining.paths import exists, open_url, resolve
from mining.threads import Threads, thread_pool
from mining.top_k import MISSING
from mining.vectors import Vectors, from_array
from pipelines.datasets.work import Work, identity
from pipelines.graph.graph_shards import DIRECTIONS, Direction, MergedShard, SampleCheck, finished_shard, write_shard
from pipelines.graph.vector_sides import VectorShard, opened, sampled_rows
from pipelines.runners.progress import Phase

MOST_SAMPLE = 1 << 22  # vectors that a codebook is trained on: 4 GB at 256 dimensions
WANTED_RECALL = 0.985  # of true nearest neighbours; where no number of copies reaches it, the largest is taken
TRIED_COPIES = (4, 6, COPIES, 12, 16)


class Partition(NamedTuple):
    """What there is to search, and how."""

    work: Work
    source: tuple[VectorShard, ...]
    target: tuple[VectorShard, ...]
    k: int
    copies: int | None  # None: as few as reach the wanted recall
    threads: int | None

    def shards(self, side: Direction) -> tuple[VectorShard, ...]:
        return self.source if side == "forward" else self.target

    def rows(self, side: Direction) -> int:
        return sum(shard.rows for shard in self.shards(side))

    @property
    def cells(self) -> int:
        return cell_count(self.rows("forward"), self.rows("backward"))

    def file(self, kind: str, side: Direction, number: int) -> str:
        return self.work.scratch(kind, f"{side}-{number:05d}.npz")


class Item(NamedTuple):
    """One vector shard as a work item."""

    side: Direction
    shard: VectorShard


class Truth(NamedTuple):
    """The sampled rows of a side with their nearest of the other side, and the unit vectors of both."""

    ids: np.ndarray  # (rows,) of the sampled rows
    vectors: np.ndarray  # (rows, dim) float32
    nearest: Neighbours  # (rows, k)
    neighbours: np.ndarray  # (rows, k, dim) float32, zeros where there is none


def items(partition: Partition) -> list[Item]:
    return [Item(side, shard) for side in DIRECTIONS for shard in partition.shards(side)]


def draw_sample(item: Item, partition: Partition) -> None:
    """Rows of a shard for the codebook, and those whose true neighbours are searched."""
    url = partition.file("sample", *_place(item))
    if exists(url):
        return
    vectors = _open(item.shard)
    total = partition.rows("forward") + partition.rows("backward")
    wanted = min(MOST_SAMPLE, SAMPLE_A_CELL * partition.cells)
    usable = np.flatnonzero(np.isfinite(vectors.inverse_norms))
    count = min(len(usable), -(-wanted * len(vectors) // max(total, 1)))
    draw = np.random.default_rng([DIRECTIONS.index(item.side), item.shard.number])
    training = usable[np.sort(draw.choice(len(usable), count, replace=False))]
    checked = usable[np.isin(usable, sampled_rows(vectors, item.shard.sample))]
    _save(url, training=vectors.unit(training), ids=vectors.ids[checked], vectors=vectors.unit(checked))


def train(partition: Partition) -> None:
    """The codebook of all samples."""
    url = partition.work.scratch("codebook.npz")
    if exists(url) or not items(partition):
        return
    sample = np.concatenate([_load(partition.file("sample", *_place(item)))["training"] for item in items(partition)])
    if not len(sample):
        raise InputError(f"{partition.work.url}: no vector of either side has a direction; all are zeros")
    with thread_pool(partition.threads) as pool:
        _save(url, centroids=train_codebook(sample, partition.cells, pool).centroids)


def find_truth(item: Item, partition: Partition) -> None:
    """The nearest in this shard of the sampled rows of the other side."""
    url = partition.file("truth", *_place(item))
    if exists(url):
        return
    other: Direction = "backward" if item.side == "forward" else "forward"
    _, rows = _sampled(partition, other)
    vectors = _open(item.shard)
    sample = from_array(rows, "sample")
    require_fit(sample, vectors, partition.k)
    near = knn_graph(sample, vectors, partition.k, threads=partition.threads).forward
    exists_ = near.ids != MISSING
    found = np.zeros((*near.ids.shape, vectors.dim), np.float32)
    found[exists_] = vectors.unit(np.searchsorted(vectors.ids, near.ids[exists_]))
    _save(url, ids=near.ids, scores=near.scores, neighbours=found)


def truth_of(partition: Partition, side: Direction) -> Truth:
    """The true neighbours of a side's sample, over all shards of the other side."""
    ids, rows = _sampled(partition, side)
    best = Neighbours.none(len(ids), partition.k)
    vectors = np.zeros((len(ids), partition.k, rows.shape[1]), np.float32)
    other: Direction = "backward" if side == "forward" else "forward"
    for shard in partition.shards(other):
        part = _load(partition.file("truth", other, shard.number))
        merged = merge([best, Neighbours(part["ids"], part["scores"])], partition.k)
        both_ids = np.concatenate([best.ids, part["ids"]], 1)
        both = np.concatenate([vectors, part["neighbours"]], 1)
        place = (both_ids[:, None, :] == merged.ids[:, :, None]).argmax(2)
        best, vectors = merged, np.take_along_axis(both, place[:, :, None], 1)
    return Truth(ids, rows, best, vectors)


def choose_copies(partition: Partition) -> int:
    """The fewest copies that let the sampled rows meet their true nearest in a cell, on both sides."""
    url = partition.work.scratch("choice.npz")
    if not items(partition):
        return COPIES
    if not exists(url):
        with thread_pool(partition.threads) as pool:
            copies = partition.copies or _fewest_copies(partition, codebook_of(partition), pool)
        _save(url, copies=np.array(copies))
    return int(_load(url)["copies"])


def _fewest_copies(partition: Partition, codebook: Codebook, pool: Threads) -> int:
    truths = [truth for side in DIRECTIONS if len((truth := truth_of(partition, side)).ids)]
    exist = np.concatenate([truth.nearest.ids[:, 0] != MISSING for truth in truths])
    if not exist.any():
        return COPIES
    most = TRIED_COPIES[-1]
    rows = np.concatenate([codebook.nearest(truth.vectors, most, pool) for truth in truths])[exist]
    near = np.concatenate([codebook.nearest(truth.neighbours[:, 0].copy(), most, pool) for truth in truths])[exist]
    for copies in TRIED_COPIES:
        meet = (rows[:, :copies, None] == near[:, None, :copies]).any((1, 2))
        if meet.mean() >= WANTED_RECALL:
            return copies
    return most


def assign(item: Item, partition: Partition) -> np.ndarray:
    """The cells of each row of a shard, none for rows without direction; returns the rows in each cell."""
    url = partition.file("assigned", *_place(item))
    codebook = codebook_of(partition)
    if not exists(url):
        vectors = _open(item.shard)
        cells = np.full((len(vectors), min(choose_copies(partition), len(codebook))), -1, np.int32)
        usable = np.flatnonzero(np.isfinite(vectors.inverse_norms))
        with thread_pool(partition.threads) as pool:
            for first in range(0, len(usable), 1 << 16):
                rows = usable[first : first + (1 << 16)]
                cells[rows] = codebook.nearest(vectors.unit(rows), cells.shape[1], pool)
        _save(url, cells=cells)
    cells = assigned(partition, item)
    return np.bincount(cells[cells >= 0], minlength=len(codebook))


def make_keys(partition: Partition, counts: np.ndarray) -> None:
    """Which key each cell belongs to, from the rows of both sides in each cell."""
    url = partition.work.scratch("keys.npz")
    if exists(url) or not len(counts):
        return
    codebook = codebook_of(partition)
    row_bytes = 4 * codebook.centroids.shape[1] + 16 * (partition.k + 4) + 8 * choose_copies(partition)
    _save(url, keys=group_cells(codebook, counts * row_bytes, KEY_BYTES))


class KeyRows(NamedTuple):
    """The vectors of one shard that go to one key, and their cells there."""

    item: Item
    rows: np.ndarray  # row numbers in the shard
    ids: np.ndarray
    stored: np.ndarray
    inverse_norms: np.ndarray
    cells: np.ndarray  # (rows, copies), negative for those of other keys


class Routing(NamedTuple):
    """The keys of a shard's rows."""

    item: Item
    vectors: Vectors
    cells: np.ndarray
    keys: np.ndarray  # (rows, copies)
    by_key: CellRows

    @classmethod
    def of(cls, item: Item, partition: Partition) -> Routing:
        cells = assigned(partition, item)
        keys = np.where(cells >= 0, keys_of(partition)[cells], -1).astype(np.int32)
        ordered = np.sort(keys, axis=1)
        ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1  # a row goes to a key once
        return cls(item, _open(item.shard), cells, keys, CellRows.of(ordered))

    def rows_of(self, key: int) -> KeyRows:
        rows = self.by_key.inside(key)
        vectors = self.vectors
        cells = np.where(self.keys[rows] == key, self.cells[rows], -1)
        return KeyRows(
            self.item, rows, vectors.ids[rows], np.asarray(vectors.stored[rows]), vectors.inverse_norms[rows], cells
        )


class FoundNeighbours(NamedTuple):
    """Neighbours that a key found for some rows of a shard."""

    rows: np.ndarray
    found: Neighbours


class Found(NamedTuple):
    parts: list[tuple[Item, FoundNeighbours]]
    comparisons: int


def search_key(given: Sequence[KeyRows], partition: Partition) -> Found:
    """All vectors of a key against each other, in parts by shard; the order in which they come does not matter."""
    sides = [
        sorted((part for part in given if part.item.side == side), key=lambda part: part.item.shard.number)
        for side in DIRECTIONS
    ]
    if not all(sides):
        return Found([], 0)
    with thread_pool(partition.threads) as pool:
        source, target = (_joined(parts) for parts in sides)
        source_cells, target_cells = (np.concatenate([part.cells for part in parts]) for parts in sides)
        result = key_graph(source, target, source_cells, target_cells, partition.k, pool)
    found: list[tuple[Item, FoundNeighbours]] = []
    for parts, near in zip(sides, result.graph, strict=True):
        ends = np.cumsum([len(part.rows) for part in parts])
        for part, end in zip(parts, ends.tolist(), strict=True):
            own = slice(end - len(part.rows), end)
            found.append((part.item, FoundNeighbours(part.rows, Neighbours(near.ids[own], near.scores[own]))))
    return Found(found, result.comparisons)


def searched(key: int, routings: Sequence[Routing], partition: Partition) -> Found:
    """`search_key` of rows that are at hand, or its file of an earlier run."""
    url = partition.work.scratch("found", f"{key:06d}.npz")
    if not exists(url):
        given = [rows for routing in routings if len((rows := routing.rows_of(key)).rows)]
        found = search_key(given, partition)
        arrays = {"comparisons": np.array(found.comparisons)}
        for item, part in found.parts:
            name = f"{item.side}-{item.shard.number}"
            arrays |= {f"{name} rows": part.rows, f"{name} ids": part.found.ids, f"{name} scores": part.found.scores}
        _save(url, **arrays)
        return found
    saved = _load(url)
    parts = []
    for routing in routings:
        name = f"{routing.item.side}-{routing.item.shard.number}"
        if f"{name} rows" in saved:
            found_ = Neighbours(saved[f"{name} ids"], saved[f"{name} scores"])
            parts.append((routing.item, FoundNeighbours(saved[f"{name} rows"], found_)))
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
    return write_shard(work, item.side, number, index, _open(item.shard).ids, found, check)


def check_sample(item: Item, found: Neighbours, partition: Partition) -> SampleCheck:
    truth = truth_of(partition, item.side)
    ids = _open(item.shard).ids
    own = np.isin(truth.ids, ids)
    rows = np.searchsorted(ids, truth.ids[own])
    return SampleCheck.of(
        Neighbours(found.ids[rows], found.scores[rows]), Neighbours(truth.nearest.ids[own], truth.nearest.scores[own])
    )


def progress(partition: Partition) -> list[Phase]:
    """Shards that have their cells, then keys that are searched; on a cluster the engine itself shows the latter."""
    work, every = partition.work, items(partition)
    keys = work.scratch("keys.npz")
    if not exists(keys):
        done = [item for item in every if exists(partition.file("assigned", *_place(item)))]
        return [Phase("cells", len(done), len(every), sum(item.shard.rows for item in done), "shards")]
    try:
        total = int(keys_of(partition).max()) + 1
    except FileNotFoundError:  # complete in this moment, and the scratch files are gone
        return []
    filesystem, path = resolve(work.scratch("found"))
    filesystem.invalidate_cache()
    done_keys = len(filesystem.ls(path, detail=False)) if filesystem.isdir(path) else 0
    rows = sum(item.shard.rows for item in every)
    return [Phase("graph", done_keys, total, rows * done_keys // total, "keys")]


def codebook_of(partition: Partition) -> Codebook:
    return _codebook(partition.work.scratch("codebook.npz"), identity(partition.work.request))


@lru_cache(maxsize=2)
def _codebook(url: str, request: str) -> Codebook:
    """Kept by what it was made for: it takes seconds to link many centroids."""
    return Codebook(_load(url)["centroids"])


def keys_of(partition: Partition) -> np.ndarray:
    return _load(partition.work.scratch("keys.npz"))["keys"]


def assigned(partition: Partition, item: Item) -> np.ndarray:
    return _load(partition.file("assigned", *_place(item)))["cells"]


def _sampled(partition: Partition, side: Direction) -> tuple[np.ndarray, np.ndarray]:
    """Ids and unit vectors of the rows of a side that recall is measured on."""
    parts = [_load(partition.file("sample", side, shard.number)) for shard in partition.shards(side)]
    return np.concatenate([part["ids"] for part in parts]), np.concatenate([part["vectors"] for part in parts])


def _joined(parts: Sequence[KeyRows]) -> Vectors:
    columns = zip(*((part.ids, part.stored, part.inverse_norms) for part in parts), strict=True)
    ids, stored, inverse_norms = (np.concatenate(column) for column in columns)
    return Vectors("key", ids, stored, inverse_norms, {})


def _place(item: Item) -> tuple[Direction, int]:
    return item.side, item.shard.number


def _open(shard: VectorShard) -> Vectors:
    return opened(shard)


def _save(url: str, **arrays: np.ndarray) -> None:
    with atomic_writer(url) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _load(url: str) -> dict[str, Any]:
    with open_url(url) as stream, np.load(stream, allow_pickle=False) as saved:
        return dict(saved)


def search_here(partition: Partition) -> list[MergedShard]:
    """What `PartitionedGraph` does, in this process: vectors are read where they lie, a key at a time."""
    every = items(partition)
    for item in every:
        draw_sample(item, partition)
    train(partition)
    for item in every:
        find_truth(item, partition)
    choose_copies(partition)
    make_keys(partition, sum_counts(assign(item, partition) for item in every))
    routings = [Routing.of(item, partition) for item in every]
    whole = {item: Neighbours.none(item.shard.rows, partition.k) for item in every}
    for key in sorted({key for routing in routings for key in routing.by_key.cells.tolist()}):
        for item, part in searched(key, routings, partition).parts:
            absorb(*whole[item], part.rows, *part.found)
    return [write_found(item, whole[item], partition) for item in every]
