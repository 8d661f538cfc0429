"""The vector shards of a side: opened one by one, or all as one map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mining.vectors import Vectors, joined_vectors, open_vectors
from pipelines.datasets.contents import check_file
from pipelines.datasets.side_datasets import SideDatasets

SAMPLE = 1000  # rows of each side, over all its shards


class VectorShard(NamedTuple):
    """A file of vectors: `number` counts the shards of its side over all its datasets.

    Of `sample` rows the exact neighbours are searched too, to measure what a partitioned graph misses.
    """

    number: int
    url: str
    rows: int
    checksum: str
    sample: int


def vector_shards(side: SideDatasets) -> tuple[VectorShard, ...]:
    """All shards of a side, numbered."""
    found = [(dataset.place(shard), shard.rows, shard.checksum) for dataset in side.all for shard in dataset.shards]
    sample = -(-SAMPLE // max(len(found), 1))
    return tuple(VectorShard(number, *shard, sample) for number, shard in enumerate(found))


def sampled_rows(vectors: Vectors, count: int) -> np.ndarray:
    """The same rows of a shard each time, evenly spread."""
    count = min(count, len(vectors))
    return np.unique(np.linspace(0, len(vectors) - 1, count).astype(np.int64)) if count else np.empty(0, np.int64)


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
