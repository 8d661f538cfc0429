"""The vector shards of a side: opened one by one, or all as one map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mining.vectors import Vectors, joined_vectors, open_vectors
from pipelines.datasets.contents import check_file
from pipelines.datasets.side_datasets import SideDatasets


class VectorShard(NamedTuple):
    """A file of vectors: `number` counts the shards of its side over all its datasets."""

    number: int
    url: str
    rows: int
    checksum: str


def vector_shards(side: SideDatasets) -> tuple[VectorShard, ...]:
    """All shards of a side, numbered."""
    found = [(dataset.place(shard), shard.rows, shard.checksum) for dataset in side.all for shard in dataset.shards]
    return tuple(VectorShard(number, *shard) for number, shard in enumerate(found))


def lots_of(ids: np.ndarray, draw: int) -> np.ndarray:
    """A number from 0 to 1 for each id, as if drawn, and the same one in whatever shard the id is (splitmix64)."""
    mixed = (ids.astype(np.uint64) + np.uint64(1 + (draw << 48))) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11), np.float64) / (1 << 53)


def opened(shard: VectorShard) -> Vectors:
    """A vector file, checked and kept open: the next step mostly needs one of the same."""
    check_file(shard.url, shard.checksum)  # every time: it is read again only when it has changed
    return _kept_open(shard.url, shard.checksum)


@lru_cache(maxsize=4)
def _kept_open(url: str, checksum: str) -> Vectors:
    return open_vectors(url)


def opened_once(shard: VectorShard) -> Vectors:
    """A vector file, checked; closed when nobody has it any more."""
    check_file(shard.url, shard.checksum)
    return open_vectors(shard.url)


def whole_side(shards: Sequence[VectorShard]) -> Vectors:
    return joined_vectors([opened_once(shard) for shard in shards])
