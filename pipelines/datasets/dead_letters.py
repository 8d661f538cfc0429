"""Dead letters: sentences that a stage could not process, each with the reason, kept beside the dataset's shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mining.files import atomic_writer
from mining.paths import open_url
from pipelines.datasets.manifest import Counters, Shard, join

_COLUMNS = ("id", "source", "line")


class DeadLetter(NamedTuple):
    """Which sentence, where it stood, and why it went no further."""

    id: int
    source: str
    line: int
    reason: str


def write_dead_letters(folder: str, shard: str, table: pa.Table, reasons: Mapping[int, str]) -> Counters:
    """Write the rows that have a reason, if any, beside the file `shard`; returns what became of all its rows."""
    rows = np.array(sorted(reasons), np.int64)
    if len(rows):
        dead = table.select(_COLUMNS).take(pa.array(rows))
        dead = dead.append_column("reason", pa.array([reasons[row] for row in rows.tolist()], pa.string()))
        with atomic_writer(_url(folder, shard)) as stream:
            pq.write_table(dead, stream, compression="zstd")
    dropped = dict(sorted(Counter(reasons.values()).items()))
    return Counters(rows_in=len(table), kept=len(table) - len(rows), dropped=dropped)


def read_dead_letters(folder: str, shard: Shard) -> Iterator[DeadLetter]:
    """The dead letters of a finished shard."""
    if not shard.counters.dropped:
        return
    with open_url(_url(folder, shard.name)) as stream:
        for row in pq.read_table(stream).to_pylist():
            yield DeadLetter(row["id"], row["source"], row["line"], row["reason"])


def _url(folder: str, shard: str) -> str:
    return join(folder, f"dead-{shard.rpartition('.')[0]}.parquet")
