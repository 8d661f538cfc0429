"""A bitext of any format as chunks of numbered rows: good ones with both texts, others with the reason why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.files import open_binary
from mining.pair_formats import Format
from mining.parquet_batches import valid_batches
from pipelines.clean.bitext_rows import TEXTS, BitextSettings, as_row
from pipelines.clean.bitext_tables import ROWS, pair_table, read_tables, table_of
from pipelines.clean.clean_settings import CHUNK
from pipelines.clean.repeated_pairs import RepeatedPairs

SCHEMA = pa.schema([("line", pa.int64()), *ROWS])
Block = tuple[pa.Table, pa.StructArray | None]  # rows, and of a table of its own that part of it
OWN = "own"  # a further column of chunks of Parquet: all columns of the row, with their types


def read_chunks(settings: BitextSettings, size: int = CHUNK) -> Iterator[pa.Table]:
    """Chunks of rows in order; a pair that came before is a duplicate, but for numbers and accents a near one."""
    repeated = RepeatedPairs()
    line = 1
    for rows, own in _even(_blocks(settings, size), size):
        table = rows.add_column(0, "line", pa.array(range(line, line + len(rows)), pa.int64())).combine_chunks()
        reasons = repeated.reasons(table["source"], table["target"], table["reason"])
        table = table.set_column(table.schema.get_field_index("reason"), "reason", reasons)
        yield table if own is None else table.append_column(OWN, own)
        line += len(rows)


def _even(blocks: Iterator[Block], size: int) -> Iterator[Block]:
    """Blocks of `size` rows, the last of up to half as many more: among few pairs a margin means nothing."""
    rows = ROWS.empty_table()
    parts: list[pa.StructArray] = []
    for more, own in blocks:
        rows = pa.concat_tables([rows, more])
        parts += [own] if own is not None else []
        while len(rows) >= size + size // 2:
            whole = pa.concat_arrays(parts) if parts else None
            yield rows[:size], None if whole is None else whole.slice(0, size)
            rows, parts = rows[size:], [whole.slice(size)] if whole is not None else []
    if len(rows):
        yield rows, pa.concat_arrays(parts) if parts else None


def _blocks(settings: BitextSettings, size: int) -> Iterator[Block]:
    """At most `size` rows at a time."""
    if settings.kind == Format.PARQUET:
        yield from _parquet_blocks(settings, size)
    else:
        yield from ((table, None) for table in read_tables(settings, size))


def _parquet_blocks(settings: BitextSettings, size: int) -> Iterator[Block]:
    try:
        with open_binary(settings.path) as stream:
            file = pq.ParquetFile(stream)
            names = _text_columns(settings, file.schema_arrow)
            for batch in valid_batches(file, batch_size=size):
                yield _pairs(*(batch.column(name) for name in names)), batch.to_struct_array()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{settings.path}: cannot be read ({error})") from None


def _pairs(source: pa.Array, target: pa.Array) -> pa.Table:
    if all(pa.types.is_string(side.type) or pa.types.is_large_string(side.type) for side in (source, target)):
        return pair_table(*(side.cast(pa.large_string()) for side in (source, target)))
    return table_of([as_row(*pair) for pair in zip(source.to_pylist(), target.to_pylist(), strict=True)])


def _text_columns(settings: BitextSettings, schema: pa.Schema) -> tuple[str, str]:
    names = settings.columns or TEXTS
    for name in names:
        if name not in schema.names:
            raise InputError(
                f"{settings.path}: no column {name!r}; say which hold the texts, as --columns de en. There are: "
                f"{', '.join(schema.names)}"
            )
    return names


def count_reasons(tables: Iterable[pa.Table]) -> dict[str, tuple[int, list[int]]]:
    """For each reason how many rows, and the first line numbers."""
    found: dict[str, tuple[int, list[int]]] = {}
    for table in tables:
        for reason, line in zip(table["reason"].to_pylist(), table["line"].to_pylist(), strict=True):
            if reason is not None:
                count, lines = found.get(reason, (0, []))
                found[reason] = count + 1, [*lines, line] if len(lines) < 3 else lines
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))
