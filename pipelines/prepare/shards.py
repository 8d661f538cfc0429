"""Cutting parts into the shards of a sentence dataset: which rows go where, and their table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from encoder.text import TextEncoder
from encoder.tokens import Tokens
from pipelines.datasets.sentences import PIECES, ROW_GROUP, SCHEMA, constant, pieces_column
from pipelines.datasets.work import Work
from pipelines.prepare.duplicates import duplicates_of
from pipelines.prepare.parts import Part, read_rows
from pipelines.prepare.readers import Block


@dataclass(frozen=True)
class Slice:
    """Rows `begin` to `end` of those that a part keeps, on their way into a shard."""

    part: Part
    ordinal: int
    source: str
    lines_before: int
    begin: int
    end: int


@dataclass(frozen=True)
class ShardPlan:
    index: int
    first_id: int
    slices: tuple[Slice, ...]


def plan_shards(
    parts: Sequence[Part], blocks: Sequence[Block], repeats: np.ndarray, rows_per_shard: int
) -> list[ShardPlan]:
    """Shards of `rows_per_shard` sentences, the last one shorter, cut from the parts in order."""
    kept = np.array([part.rows for part in parts], np.int64) - repeats
    ends = np.cumsum(kept)
    before = lines_before(parts, blocks)
    planned = []
    for index in range(-(-int(ends[-1]) // rows_per_shard)):
        first, stop = index * rows_per_shard, min((index + 1) * rows_per_shard, int(ends[-1]))
        slices = []
        for i in range(int(np.searchsorted(ends, first, "right")), int(np.searchsorted(ends, stop, "left")) + 1):
            start_id = int(ends[i] - kept[i])
            url = blocks[parts[i].block].url
            begin_row, end_row = max(first - start_id, 0), min(stop - start_id, int(kept[i]))
            slices.append(Slice(parts[i], i, url, before[parts[i].block], begin_row, end_row))
        planned.append(ShardPlan(index, first, tuple(slices)))
    return planned


def lines_before(parts: Sequence[Part], blocks: Sequence[Block]) -> dict[int, int]:
    """For each block, how many lines of its file lie in earlier blocks."""
    lines = {part.block: part.end for part in parts if part.last}
    read: dict[str, int] = defaultdict(int)
    before = {}
    for block in blocks:
        before[block.index] = read[block.url]
        read[block.url] += lines[block.index]
    return before


def shard_table(work: Work, planned: ShardPlan, lang: str, partitions: int, encoder: TextEncoder | None) -> pa.Table:
    """The rows of a shard, numbered, with subword ids when there is an encoder."""
    tables = [_slice_table(work, piece, lang, partitions) for piece in planned.slices]
    rows = pa.concat_tables(tables)
    ids = pa.array(np.arange(planned.first_id, planned.first_id + len(rows), dtype=np.uint64))
    table = rows.add_column(0, SCHEMA.field("id"), ids).cast(SCHEMA)
    if encoder is not None:
        table = table.append_column(PIECES, pieces_column(_cut(encoder, table.column("text"), lang)))
    return table


def _cut(encoder: TextEncoder, texts: pa.ChunkedArray, lang: str) -> Tokens:
    """Subword ids, some rows at a time: the words of a whole shard as Python strings would take most of the memory."""
    starts = range(0, len(texts), ROW_GROUP)
    return Tokens.concatenate([encoder.encode(texts[i : i + ROW_GROUP].to_pylist(), lang) for i in starts])


def _slice_table(work: Work, piece: Slice, lang: str, partitions: int) -> pa.Table:
    rows = read_rows(work, piece.part)
    kept = np.ones(len(rows), bool)
    kept[duplicates_of(work, piece.ordinal, partitions)] = False
    rows = rows.take(pa.array(np.flatnonzero(kept)[piece.begin : piece.end]))
    lines = pa.array(rows.column("line").to_numpy() + piece.lines_before)
    columns = [constant(piece.source, len(rows)), lines, rows.column("ref"), constant(lang, len(rows))]
    return pa.table([*columns, rows.column("text")], names=["source", "line", "ref", "lang", "text"])
