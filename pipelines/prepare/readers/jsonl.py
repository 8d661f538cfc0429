"""JSON Lines: one object a line, the sentence in a field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from pipelines.prepare.readers.blocks import BAD_JSON, NO_COLUMN, Block, ReadSettings, RowBatch, keep_rows, ref_of
from pipelines.prepare.readers.lines import read_lines

DEFAULT_FIELD = "text"
_BAD: dict[str, object] = {}  # stands for a line that is no JSON object


def read(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """The field `settings.column` (default: "text") of each object; an object without it counts as no_column."""
    field = settings.column or DEFAULT_FIELD

    def parse(lines: list[str | None], first: int, dropped: Counter[str]) -> RowBatch:
        dropped = dropped.copy()
        rows = [_object(line) if line and not line.isspace() else None for line in lines]
        texts: list[str | None] = list(lines)  # blank lines stay, and count as empty
        for i, row in enumerate(rows):
            if row is not None:
                texts[i] = found if isinstance(found := row.get(field), str) else None
                dropped[BAD_JSON if row is _BAD else NO_COLUMN] += texts[i] is None
        refs = None
        if settings.ref_column is not None:
            refs = [ref_of(row.get(settings.ref_column)) if row else None for row in rows]
        return keep_rows(texts, first, settings, +dropped, refs)

    return read_lines(block, settings, parse)


def _object(line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return _BAD
    return row if isinstance(row, dict) else _BAD
