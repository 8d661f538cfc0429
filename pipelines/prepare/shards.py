"""Cutting parts into the shards of a sentence dataset: which rows go where, and their table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from encoder.text import TextEncoder
from encoder.tokens import Tokens
from pipelines.datasets.sentences import DOCUMENT, PIECES, POSITION, ROW_GROUP, SCHEMA, constant, pieces_column
from pipelines.datasets.work import Work
from pipelines.prepare.duplicates import read_repeats
from pipelines.prepare.parts import CLEANING, RUN, Part, read_rows
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
    position: int  # in its document, of the part's first row
    repeats: int  # rows of the part that occurred before


@dataclass(frozen=True)
class ShardPlan:
    index: int
    first_id: int
    slices: tuple[Slice, ...]


def plan_shards(
    parts: Sequence[Part], blocks: Sequence[Block], repeats: Sequence[int], rows_per_shard: int
) -> list[ShardPlan]:
    """Shards of `rows_per_shard` sentences, the last one shorter, cut from the parts in order."""
    kept = np.array([part.rows for part in parts], np.int64) - np.array(repeats, np.int64)
    ends = np.cumsum(kept)
    before = lines_before(parts, blocks)
    positions = first_positions(parts, blocks)
    planned = []
    for index in range(-(-int(ends[-1]) // rows_per_shard)):
        first, stop = index * rows_per_shard, min((index + 1) * rows_per_shard, int(ends[-1]))
        slices = []
        for i in range(int(np.searchsorted(ends, first, "right")), int(np.searchsorted(ends, stop, "left")) + 1):
            start_id = int(ends[i] - kept[i])
            url = blocks[parts[i].block].url
            begin_row, end_row = max(first - start_id, 0), min(stop - start_id, int(kept[i]))
            if begin_row < end_row:
                lines = before[parts[i].block]
                slices.append(Slice(parts[i], i, url, lines, begin_row, end_row, positions[i], repeats[i]))
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


def first_positions(parts: Sequence[Part], blocks: Sequence[Block]) -> list[int]:
    """For each part how many sentences of its first document lie in earlier parts."""
    positions = []
    document: tuple[str, str | None] | None = None
    read = 0
    for part in parts:
        url = blocks[part.block].url
        positions.append(read if (url, part.first_ref) == document and part.rows else 0)
        if part.rows:
            read = part.last_run + (positions[-1] if part.last_run == part.rows else 0)
            document = url, part.last_ref
    return positions


def shard_table(
    work: Work, planned: ShardPlan, lang: str, encoder: TextEncoder | None, *, documents: bool = False
) -> pa.Table:
    """The rows of a shard, numbered, with subword ids when there is an encoder, and their places in `documents`."""
    rows = pa.concat_tables([_slice_table(work, piece, lang, documents=documents) for piece in planned.slices])
    ids = pa.array(np.arange(planned.first_id, planned.first_id + len(rows), dtype=np.uint64))
    schema = pa.schema([*SCHEMA, DOCUMENT, POSITION]) if documents else SCHEMA
    table = rows.add_column(0, SCHEMA.field("id"), ids).cast(schema)
    if encoder is not None:
        table = table.append_column(PIECES, pieces_column(cut_texts(encoder, table.column("text"), lang)))
    return table


def cut_texts(encoder: TextEncoder, texts: pa.ChunkedArray, lang: str) -> Tokens:
    """Subword ids, some rows at a time: the words of a whole shard as Python strings would take most of the memory."""
    starts = range(0, len(texts), ROW_GROUP)
    parts = (texts[i : i + ROW_GROUP].to_pylist() for i in starts)
    return Tokens.concatenate([encoder.encode(part, lang, normalized=CLEANING) for part in parts])


def _slice_table(work: Work, piece: Slice, lang: str, *, documents: bool) -> pa.Table:
    wanted = _wanted_rows(work, piece)
    first = int(wanted[0])
    rows = read_rows(work, piece.part, first, int(wanted[-1]) + 1)
    if documents:
        runs = rows.column(RUN).to_numpy()
        goes_on = runs == first + np.arange(len(rows))  # the document that the part begins with
        names = pc.fill_null(rows.column("ref"), piece.source).dictionary_encode()
        places = pa.array(runs + np.where(goes_on, piece.position, 0))
        rows = rows.drop_columns([RUN]).append_column(DOCUMENT.name, names).append_column(POSITION.name, places)
    rows = rows.take(pa.array(wanted - first))
    lines = pa.array(rows.column("line").to_numpy() + piece.lines_before)
    rows = rows.set_column(0, "line", lines).add_column(0, "source", constant(piece.source, len(rows)))
    return rows.add_column(3, "lang", constant(lang, len(rows)))


def _wanted_rows(work: Work, piece: Slice) -> np.ndarray:
    """The rows of the part that the slice is."""
    kept = np.ones(piece.part.rows, bool)
    if piece.repeats:
        kept[read_repeats(work, piece.part)] = False
    return np.flatnonzero(kept)[piece.begin : piece.end]
