"""The pairs table: what every miner stage and pair file agrees on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from mining.errors import InputError

SCHEMA = pa.schema(
    [
        ("src_id", pa.uint64()),
        ("tgt_id", pa.uint64()),
        ("score", pa.float32()),
        ("cosine", pa.float32()),
        ("src_text", pa.string()),
        ("tgt_text", pa.string()),
        ("src_source", pa.string()),
        ("src_line", pa.int64()),
        # what the input itself calls the sentence or its document: an id, a URL
        ("src_ref", pa.string()),
        ("tgt_source", pa.string()),
        ("tgt_line", pa.int64()),
        ("tgt_ref", pa.string()),
        # "fb" when both directions chose the pair, "f" forward only, "b" backward only
        ("directions", pa.string()),
        # further lines that hold the same sentence, which is mined once; known of files with vectors
        ("src_also", pa.list_(pa.int64())),
        ("tgt_also", pa.list_(pa.int64())),
    ]
)
# Pairs that a filter dropped, with why.
REJECTED_SCHEMA = SCHEMA.append(pa.field("reason", pa.string()))
_Item = TypeVar("_Item")
_TEXTS = ("src_text", "tgt_text")


def conform(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    """The same rows under the pairs schema: columns in order and of the right type, absent ones null.

    With a `reason` column the rows are rejected pairs. Texts are required; an unknown column is an error.
    """
    schema = REJECTED_SCHEMA if "reason" in batch.schema.names else SCHEMA
    unknown = [name for name in batch.schema.names if name not in schema.names]
    if unknown:
        raise InputError(f"pairs have no column {unknown[0]!r}; the columns are {', '.join(schema.names)}")
    for name in _TEXTS:
        if name not in batch.schema.names or batch.column(name).null_count:
            raise InputError(f"pairs need a text in every row of the column {name!r}")
    try:
        columns = [_column(batch, field) for field in schema]
    except pa.ArrowInvalid as error:
        raise InputError(f"the pairs do not fit the pairs schema: {error}") from None
    return pa.table(columns, schema=schema)


def rebatch(rows: Iterable[dict[str, object]], schema: pa.Schema, size: int = 16384) -> Iterator[pa.RecordBatch]:
    """Row dictionaries as record batches of at most `size` rows."""
    buffer: list[dict[str, object]] = []
    for row in rows:
        buffer.append(row)
        if len(buffer) == size:
            yield pa.RecordBatch.from_pylist(buffer, schema=schema)
            buffer.clear()
    if buffer:
        yield pa.RecordBatch.from_pylist(buffer, schema=schema)


def peek(items: Iterator[_Item]) -> tuple[_Item | None, Iterator[_Item]]:
    """The first item, or None, and all items including it."""
    first = next(items, None)
    return first, items if first is None else chain([first], items)


def _column(batch: pa.RecordBatch | pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    # A float64 score rounds to float32; everything else must fit exactly.
    return column.cast(field.type, safe=not pa.types.is_floating(field.type))
