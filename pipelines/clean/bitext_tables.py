"""Rows of a bitext by the column, many at a time: both texts, the whole row, and the reason where it is no pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import islice, zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mining.line_columns import line_columns
from mining.pair_formats import Format
from pipelines.clean.bitext_rows import HEAD, BitextRow, BitextSettings, moses_files, read_rows, text_places

ROWS = pa.schema(
    [
        ("source", pa.large_string()),
        ("target", pa.large_string()),
        ("record", pa.large_string()),  # the whole row as it stood there, where it is text
        ("reason", pa.string()),  # null where the row is a pair
    ]
)


def read_tables(settings: BitextSettings, size: int) -> Iterator[pa.Table]:
    """The rows of a format that is text, at most `size` at a time; Parquet has batches (`bitext_chunks`)."""
    if settings.kind == Format.TSV:
        yield from _tsv(settings, size)
    elif settings.kind == Format.MOSES:
        yield from _moses(settings, size)
    else:
        rows = read_rows(settings)
        while block := list(islice(rows, size)):
            yield table_of(block)


def table_of(rows: list[BitextRow]) -> pa.Table:
    """Rows that were read one by one."""
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)], ROWS)


def pair_table(source: pa.Array, target: pa.Array, record: pa.Array | None = None) -> pa.Table:
    """Texts in pairs as `bitext_rows.as_row` has them: trimmed, or with the reason why they are none."""
    plain = [pc.utf8_trim_whitespace(side) for side in (source, target)]
    empty = reduce(pc.or_, (pc.equal(pc.binary_length(side), 0) for side in plain))  # null where a text is
    present = empty.is_valid()
    texts = [
        pc.if_else(present, pc.if_else(empty, side, trimmed), None)
        for side, trimmed in zip((source, target), plain, strict=True)
    ]
    reason = pc.if_else(present, pc.if_else(empty, "empty", pa.scalar(None, pa.string())), "no text")
    whole = pa.nulls(len(source), pa.large_string()) if record is None else record
    return pa.table([*texts, whole, reason], ROWS)


def _tsv(settings: BitextSettings, size: int) -> Iterator[pa.Table]:
    shape: tuple[int, tuple[int, int]] | None = None
    for lines in line_columns(settings.path, size):
        shape = shape or _shape(settings, lines[:HEAD].to_pylist())
        width, places = shape
        cells = pc.split_pattern(lines, "\t")
        fits = (np.diff(cells.offsets.to_numpy()) == width) & lines.is_valid().to_numpy(zero_copy_only=False)
        source, target = (_cell(cells, fits, place) for place in places)
        table = pair_table(source, target, lines)
        reason = pc.if_else(pa.array(fits), table["reason"], pc.if_else(lines.is_valid(), "columns", "not UTF-8"))
        yield table.set_column(table.num_columns - 1, "reason", reason)


def _shape(settings: BitextSettings, head: list[str | None]) -> tuple[int, tuple[int, int]]:
    """How many columns most of the first rows have, and which of them are the texts."""
    rows = [line.split("\t") for line in head if line is not None]
    if not rows:
        return 0, (0, 1)
    width = Counter(map(len, rows)).most_common(1)[0][0]
    return width, text_places(settings, next(cells for cells in rows if len(cells) == width))


def _cell(cells: pa.LargeListArray, fits: np.ndarray, place: int) -> pa.Array:
    """A column of the rows that fit, null for others."""
    return cells.values.take(pa.array(cells.offsets.to_numpy()[:-1] + place, mask=~fits))


def _moses(settings: BitextSettings, size: int) -> Iterator[pa.Table]:
    """Line by line of both files; a side that ends before the other is missing."""
    sides = (line_columns(url, size) for url in moses_files(settings))
    none = pa.array([], pa.large_string())
    for columns in zip_longest(*sides, fillvalue=none):
        shared = min(map(len, columns))
        source, target = (column[:shared] for column in columns)
        table = pair_table(source, target)
        reason = pc.if_else(pc.and_(source.is_valid(), target.is_valid()), table["reason"], "not UTF-8")
        yield table.set_column(table.num_columns - 1, "reason", reason)
        if lacking := max(map(len, columns)) - shared:
            yield table_of([BitextRow(None, None, None, "other side missing")] * lacking)
