"""What a partitioned search is given, and the scratch files that its steps leave."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mining.cell_keys import KEY_BYTES
from mining.codebook import SAMPLE_A_CELL, Codebook, cell_count
from mining.errors import InputError
from mining.files import atomic_writer
from mining.paths import exists, open_url
from pipelines.datasets.manifest import join
from pipelines.datasets.work import Work, identity
from pipelines.graph.graph_shards import DIRECTIONS, Direction
from pipelines.graph.vector_sides import VectorShard

CODEBOOK = "codebook.npz"  # beside the manifest, so that other graphs of the encoder can use it again


MOST_SAMPLE = 1 << 22  # vectors that a codebook is trained on where it has fewer cells, and the memory allows


class MemoryBounds(NamedTuple):
    """What a worker's memory decides of a graph: with others of these it is another graph."""

    training_rows: int  # that the codebook is trained on, about
    key_bytes: int  # of a key's vectors: a cell with more is dealt out to several, and rows meet those of their own

    @classmethod
    def of(cls, rows: tuple[int, int], dim: int, memory: int) -> MemoryBounds:
        affordable = memory // 4 // (4 * dim)
        cells = cell_count(*rows)
        wanted = min(max(MOST_SAMPLE, cells), SAMPLE_A_CELL * cells, affordable)  # a cell begins as one of them
        return cls(min(wanted, sum(rows)), min(KEY_BYTES, memory // 8))


class Partition(NamedTuple):
    """What there is to search, and how."""

    work: Work
    source: tuple[VectorShard, ...]
    target: tuple[VectorShard, ...]
    k: int
    dim: int
    encoder: str
    memory: int
    copies: int | None  # None: as few as reach the wanted recall
    codebook: str | None  # the folder of a graph whose codebook is used again
    threads: int | None
    probes: tuple[tuple[int, int], ...] = ()  # known translations, by ids of source and target

    def shards(self, side: Direction) -> tuple[VectorShard, ...]:
        return self.source if side == "forward" else self.target

    def rows(self, side: Direction) -> int:
        return sum(shard.rows for shard in self.shards(side))

    @property
    def bounds(self) -> MemoryBounds:
        return MemoryBounds.of((self.rows("forward"), self.rows("backward")), self.dim, self.memory)

    @property
    def cells(self) -> int:
        return cell_count(self.rows("forward"), self.rows("backward"))

    def file(self, kind: str, side: Direction, number: int) -> str:
        return self.work.scratch(kind, f"{side}-{number:05d}.npz")


class Item(NamedTuple):
    """One vector shard as a work item."""

    side: Direction
    shard: VectorShard


def items(partition: Partition) -> list[Item]:
    return [Item(side, shard) for side in DIRECTIONS for shard in partition.shards(side)]


def place(item: Item) -> tuple[Direction, int]:
    return item.side, item.shard.number


def codebook_of(partition: Partition) -> Codebook:
    return _codebook(partition.work.place(CODEBOOK), identity(partition.work.request))


@lru_cache(maxsize=2)
def _codebook(url: str, request: str) -> Codebook:
    """Kept by what it was made for: it takes seconds to link many centroids."""
    return Codebook(load_arrays(url)["centroids"])


def given_codebook(folder: str, encoder: str, dim: int) -> np.ndarray:
    """The centroids of another graph of the same encoder."""
    url = join(folder, CODEBOOK)
    if not exists(url):
        raise InputError(f"{folder} has no {CODEBOOK}; give the folder of a graph made with --search partitioned")
    saved = load_arrays(url)
    if str(saved["encoder"]) != encoder or saved["centroids"].shape[1] != dim:
        raise InputError(
            f"the codebook in {folder} is of encoder {saved['encoder']} and dim {saved['centroids'].shape[1]}, but the "
            f"vectors are of encoder {encoder} and dim {dim}; leave it out, or give one of the same encoder"
        )
    return saved["centroids"]


def save_arrays(url: str, **arrays: np.ndarray) -> None:
    with atomic_writer(url) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_arrays(url: str) -> dict[str, Any]:
    with open_url(url) as stream, np.load(stream, allow_pickle=False) as saved:
        return dict(saved)
