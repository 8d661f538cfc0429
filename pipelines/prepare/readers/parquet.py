"""Parquet: the sentence in a column; one block is a run of row groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.files import open_binary
from mining.parquet_batches import valid_batches
from pipelines.prepare.readers.blocks import EMPTY, Block, ReadSettings, RowBatch, keep_rows, ref_of

DEFAULT_COLUMN = "text"
BATCH_ROWS = 8192


def read(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """The column `settings.column` (default: "text"); `line` is the row number, a null counts as empty."""
    column = settings.column or DEFAULT_COLUMN
    wanted = [column] if settings.ref_column is None else [column, settings.ref_column]
    with open_binary(block.url) as stream:
        table = _open(block.url, stream)
        _check_columns(block.url, table.schema_arrow, wanted)
        stop = table.num_row_groups if block.stop is None else block.stop
        row = 1
        for batch in _batches(block.url, table, list(range(block.start, stop)), wanted):
            texts = batch.column(column).to_pylist()
            refs = None
            if settings.ref_column is not None:
                refs = [ref_of(ref) for ref in batch.column(settings.ref_column).to_pylist()]
            nulls = batch.column(column).null_count
            yield keep_rows(texts, row, settings, +Counter({EMPTY: nulls}), refs)
            row += len(batch)


def _batches(url: str, table: pq.ParquetFile, groups: list[int], wanted: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        yield from valid_batches(table, batch_size=BATCH_ROWS, row_groups=groups, columns=wanted)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{url}: not a readable Parquet file ({error})") from None


def cut(url: str, block_bytes: int) -> list[tuple[int, int | None]]:
    """Runs of row groups of at least `block_bytes` of data."""
    with open_binary(url) as stream:
        metadata = _open(url, stream).metadata
    starts, size = [0], 0
    for group in range(metadata.num_row_groups):
        if size >= block_bytes:
            starts.append(group)
            size = 0
        size += metadata.row_group(group).total_byte_size
    return list(zip(starts, [*starts[1:], None], strict=True))


def _open(url: str, stream: object) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(stream)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{url}: not a readable Parquet file ({error})") from None


def _check_columns(url: str, schema: pa.Schema, wanted: list[str]) -> None:
    for name in wanted:
        if name not in schema.names:
            raise InputError(f"{url} has no column {name!r}; it has {', '.join(schema.names)}")
    kind = schema.field(wanted[0]).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise InputError(f"{url}: column {wanted[0]!r} holds {kind}, not text; choose another with `column`")
