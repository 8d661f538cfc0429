"""Shards of pairs: edges with their texts, filtered, and written best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash
from pydantic import BaseModel, ConfigDict

from mining.errors import InputError
from mining.files import atomic_writer
from mining.filters import FilterSettings, RepeatedTargetFilter, apply_filters
from mining.pairs import conform
from mining.paths import open_url
from pipelines.datasets.contents import check_file
from pipelines.datasets.manifest import Counters, Shard, join, read_model, write_model
from pipelines.datasets.work import Work, new_name
from pipelines.mine.text_join import OutputPart, assemble


class Filtered(BaseModel):
    """The note of an output shard with its texts, before repeated targets are dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int
    rows: int

    @classmethod
    def of(cls, work: Work, number: int) -> Filtered:
        note = read_model(_note_url(work, number), cls)
        assert note is not None, f"output shard {number} is not filtered"
        return note


def missing_outputs(work: Work, pairs: int, rows_per_shard: int) -> list[int]:
    """The output shards that are not filtered yet."""
    shards = range(-(-pairs // rows_per_shard))
    return [number for number in shards if read_model(_note_url(work, number), Filtered) is None]


def filter_shard(
    work: Work,
    number: int,
    parts: Sequence[OutputPart],
    filters: FilterSettings,
    src_lang: str | None,
    tgt_lang: str | None,
) -> Filtered:
    """Put an output shard together and write it with the reason of each pair that a filter drops.

    Repeated targets are judged later, across shards.
    """
    table = assemble(parts)
    result = apply_filters(table, filters.model_copy(update={"repeated_target": None}), src_lang, tgt_lang)
    judged = table.append_column("reason", result.reasons)
    with atomic_writer(_table_url(work, number)) as stream:
        pq.write_table(conform(judged), stream, compression="zstd")
    note = Filtered(number=number, rows=len(table))
    write_model(_note_url(work, number), note)
    return note


def repeated_targets(
    work: Work, notes: Iterable[Filtered], most: int, targets: int
) -> Iterator[tuple[Filtered, np.ndarray]]:
    """Each output shard with the rows whose target has `most` better pairs already; dropped pairs do not count.

    Holds one shard, and for each target sentence how often it came, which takes a byte up to a `most` of 255.
    """
    counts = np.zeros(targets, np.min_scalar_type(most))
    for note in notes:
        table = _read(_table_url(work, note.number), ["tgt_id", "reason"])
        rows = np.flatnonzero(pc.is_null(table["reason"]).to_numpy())
        ids = table["tgt_id"].to_numpy()[rows]
        order = np.argsort(ids, kind="stable")
        found, starts, times = np.unique(ids[order], return_index=True, return_counts=True)
        came = np.empty(len(ids), np.int64)
        came[order] = np.arange(len(ids)) - np.repeat(starts, times) + np.repeat(counts[found], times)
        counts[found] = np.minimum(counts[found] + times, most)
        yield note, rows[came >= most]


def write_pair_shard(work: Work, note: Filtered, repeated: np.ndarray) -> Shard:
    """The pairs of an output shard that stay, and beside them those that were dropped; unless they are there."""
    shard = work.finished(note.number)
    if shard is not None:
        return shard
    table = _read(_table_url(work, note.number))
    reasons = np.array(table["reason"].to_pylist(), dtype=object)
    reasons[repeated] = RepeatedTargetFilter.reason
    table = table.set_column(table.schema.get_field_index("reason"), "reason", pa.array(reasons, pa.string()))
    kept = table.filter(pc.is_null(table["reason"])).drop_columns("reason")
    rejected = table.filter(pc.is_valid(table["reason"]))
    name = new_name(note.number, "parquet")
    for part, file in ((rejected, f"rejected-{name}"), (kept, name)):
        with atomic_writer(work.place(file)) as stream:
            pq.write_table(part, stream, compression="zstd")
    dropped = dict(sorted(Counter(rejected["reason"].to_pylist()).items()))
    counters = Counters(rows_in=len(table), kept=len(kept), dropped=dropped)
    return work.note(Shard(index=note.number, name=name, rows=len(kept), digest=_digest(kept), counters=counters))


def read_pair_shard(folder: str, shard: Shard, rejected: bool = False) -> pa.Table:
    """The pairs of a finished shard of the dataset in a folder, or those that filters took from it."""
    url = join(folder, f"rejected-{shard.name}" if rejected else shard.name)
    if not rejected:
        check_file(url, shard.checksum)
    return conform(_read(url))  # a dataset of an earlier version has fewer columns


def _digest(table: pa.Table) -> str:
    digest = xxhash.xxh3_64()
    for name in ("src_id", "tgt_id", "score", "cosine"):
        digest.update(table[name].to_numpy().tobytes())
    for name in ("src_text", "tgt_text", "directions"):
        digest.update("\n".join(table[name].to_pylist()).encode())
    return digest.hexdigest()


def _table_url(work: Work, number: int) -> str:
    return work.scratch("filtered", f"{number:05d}.parquet")


def _note_url(work: Work, number: int) -> str:
    return work.scratch("filtered", f"{number:05d}.json")


def _read(url: str, columns: list[str] | None = None) -> pa.Table:
    try:
        with open_url(url) as stream:
            return pq.read_table(stream, columns=columns)
    except FileNotFoundError:
        raise InputError(f"{url}: the shard is missing; make the dataset again") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{url}: the shard cannot be read ({error}); make the dataset again") from None
