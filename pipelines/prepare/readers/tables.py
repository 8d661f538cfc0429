"""TSV with a chosen column, and its special case BUCC: `id TAB sentence`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipelines.prepare.readers.blocks import NO_COLUMN, Block, ReadSettings, RowBatch, column_number, keep_rows, ref_of
from pipelines.prepare.readers.lines import read_lines


def read(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """The column `settings.column` (default: the first) of each line, named by `settings.ref_column`."""
    column = column_number(settings.column, 1, "column")
    ref = None if settings.ref_column is None else column_number(settings.ref_column, 1, "ref_column")
    return _read(block, settings, column, ref, -1)


def read_bucc(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """The second column as sentence, the first as its external id; further tabs belong to the sentence."""
    return _read(block, settings, 1, 0, 1)


def _read(block: Block, settings: ReadSettings, column: int, ref: int | None, splits: int) -> Iterator[RowBatch]:
    width = max(column, ref or 0) + 1

    def parse(lines: list[str | None], first: int, dropped: Counter[str]) -> RowBatch:
        rows = [line.split("\t", splits) if line else None for line in lines]
        short = {i for i, row in enumerate(rows) if row is not None and len(row) < width}
        # Blank lines stay "", so that they count as empty and not as lacking a column.
        texts = [None if i in short else row[column] if row else lines[i] for i, row in enumerate(rows)]
        refs = None if ref is None else [ref_of(row[ref]) if row and len(row) > ref else None for row in rows]
        return keep_rows(texts, first, settings, dropped + Counter({NO_COLUMN: len(short)}), refs)

    return read_lines(block, settings, parse)
