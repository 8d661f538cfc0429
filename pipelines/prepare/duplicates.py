"""Exact duplicates across all parts: hashes go to their prefix, what repeats goes back to its part.

Every file is opened once, whatever the number of prefixes: the two joins are the engine's, or on one machine a spool's.
Memory holds one prefix and not the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from mining.files import atomic_writer
from mining.paths import open_url
from pipelines.datasets.manifest import read_model, write_model
from pipelines.datasets.work import Work
from pipelines.prepare.parts import Part, PartKey, part_name, read_hashes
from pipelines.runners.spool import Spool

DUPLICATE = "duplicate"
# Bytes that finding duplicates takes for each sentence: hash, row, sort order and copies.
BYTES_PER_ROW = 48


class PartHashes(NamedTuple):
    """The hashes of a part that have one prefix, ascending, and their rows; equal hashes have ascending rows."""

    part: PartKey
    hashes: np.ndarray  # (n,) uint64
    rows: np.ndarray  # (n,) uint32


class PartRepeats(NamedTuple):
    """How many rows of a part occurred before."""

    part: PartKey
    rows: int


class RepeatCounts(BaseModel):
    """The note that all duplicates are found: how many there are in each part, in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: list[int]


def hashes_by_prefix(part: Part, work: Work, partitions: int) -> Iterator[tuple[int, PartHashes]]:
    """The hashes of a part by the number of their prefix."""
    hashes, rows = read_hashes(work, part)
    bounds = np.searchsorted(hashes, partition_edges(partitions)).tolist()
    for prefix, (begin, end) in enumerate(zip(bounds, [*bounds[1:], len(hashes)], strict=True)):
        if begin < end:
            yield prefix, PartHashes(part.order, hashes[begin:end], rows[begin:end])


def partition_edges(partitions: int) -> np.ndarray:
    """The lowest hash of each of `partitions` (a power of two) equal ranges."""
    return np.arange(partitions, dtype=np.uint64) * np.uint64(2**64 // partitions % 2**64)


def repeats_by_part(item: tuple[int, Iterable[PartHashes]]) -> Iterator[tuple[PartKey, np.ndarray]]:
    """For each part the rows of a prefix whose hash occurred before, in an earlier part or earlier in this one."""
    found = sorted(item[1], key=lambda part: part.part)
    repeated = repeated_rows([part.hashes for part in found], [part.rows for part in found])
    for part, rows in zip(found, repeated, strict=True):
        if len(rows):
            yield part.part, rows


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


def write_repeats(item: tuple[PartKey, Iterable[np.ndarray]], work: Work) -> PartRepeats:
    """Keep the repeated rows of a part, of all prefixes."""
    part, found = item
    rows = np.sort(np.concatenate(list(found)))
    with atomic_writer(_url(work, part)) as stream:
        np.save(stream, rows, allow_pickle=False)
    return PartRepeats(part, len(rows))


def read_repeats(work: Work, part: Part) -> np.ndarray:
    """The rows of a part that occurred before; only for parts that have some."""
    with open_url(_url(work, part.order)) as stream:
        return np.load(stream, allow_pickle=False)


def find_repeats(parts: Iterable[Part], work: Work, partitions: int) -> list[PartRepeats]:
    """The repeated rows of all parts, kept and counted, by this process."""
    with Spool[int, PartHashes](work) as by_prefix, Spool[PartKey, np.ndarray](work) as by_part:
        for part in parts:
            by_prefix.add(hashes_by_prefix(part, work, partitions))
        for group in by_prefix.groups():
            by_part.add(repeats_by_part(group))
        return [write_repeats(group, work) for group in by_part.groups()]


def note_repeats(found: Iterable[PartRepeats], parts: Iterable[Part], work: Work) -> RepeatCounts:
    """Record that the duplicates of all parts are found; a rerun does not look for them again."""
    counts = dict(found)
    noted = RepeatCounts(rows=[counts.get(part.order, 0) for part in sorted(parts, key=lambda part: part.order)])
    write_model(_note_url(work), noted)
    return noted


def noted_repeats(work: Work) -> RepeatCounts | None:
    return read_model(_note_url(work), RepeatCounts)


def _url(work: Work, part: PartKey) -> str:
    return work.scratch("parts", f"{part_name(*part)}.repeats.npy")


def _note_url(work: Work) -> str:
    return work.scratch("repeats.json")
