"""Exact duplicates across all parts: found by hash prefix, so that memory holds one prefix and not the corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mining.files import atomic_writer
from mining.paths import open_url
from pipelines.datasets.work import Work
from pipelines.prepare.parts import Part, read_hashes

DUPLICATE = "duplicate"
# Bytes that finding duplicates takes for each sentence: hash, row, sort order and copies.
BYTES_PER_ROW = 48
_ROWS = pa.schema([("row", pa.uint32())])


def repeated_rows(hashes: Sequence[np.ndarray], rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each part the rows whose hash occurred before: in an earlier part, or earlier in this one.

    `hashes[i]` (n_i,) uint64 and `rows[i]` (n_i,) describe part `i`; equal hashes of a part come in ascending rows.
    """
    flat = np.concatenate([np.zeros(0, np.uint64), *hashes])
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    repeats = np.sort(order[1:][ordered[1:] == ordered[:-1]])
    bounds = np.cumsum([0, *map(len, hashes)])
    cuts = np.searchsorted(repeats, bounds)
    return [np.sort(rows[i][repeats[cuts[i] : cuts[i + 1]] - bounds[i]]) for i in range(len(hashes))]


def mark_duplicates(work: Work, parts: Sequence[Part], partition: int) -> np.ndarray:
    """Write down the repeated rows of one hash prefix; how many there are in each part."""
    url = _url(work, partition)
    counts = _counts(url)
    if counts is not None:
        return counts
    read = [read_hashes(work, part, partition) for part in parts]
    repeated = repeated_rows([hashes for hashes, _ in read], [rows for _, rows in read])
    with atomic_writer(url) as stream, pa.ipc.new_file(stream, _ROWS) as writer:
        for rows in repeated:
            writer.write(pa.record_batch([pa.array(rows, pa.uint32())], schema=_ROWS))
    return np.array([len(rows) for rows in repeated], np.int64)


def duplicates_of(work: Work, ordinal: int, partitions: int) -> np.ndarray:
    """The repeated rows of the part that is `ordinal`-th of all."""
    found = []
    for partition in range(partitions):
        with open_url(_url(work, partition)) as stream:
            found.append(pa.ipc.open_file(stream).get_batch(ordinal).column(0).to_numpy())
    return np.concatenate([np.zeros(0, np.uint32), *found])


def _url(work: Work, partition: int) -> str:
    return work.scratch("duplicates", f"{partition:05d}.arrow")


def _counts(url: str) -> np.ndarray | None:
    try:
        with open_url(url) as stream:
            file = pa.ipc.open_file(stream)
            return np.array([file.get_batch(i).num_rows for i in range(file.num_record_batches)], np.int64)
    except FileNotFoundError:
        return None
