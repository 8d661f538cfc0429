"""What is told about a file or folder: what it is, facts, and its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

_WIDEST = 60
_OF_PAIRS = ("src_text", "tgt_text", "score", "cosine", "src_line", "tgt_line", "reason")  # that fit a terminal
_NUMBERS = 6  # of a vector that are shown


class Description(NamedTuple):
    """Facts in order, and a small table with the first rows, which may be empty."""

    what: str
    facts: list[tuple[str, str]]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def first_rows(table: pa.Table, most: int) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table as short texts; columns with nothing in them are left out, of pairs most."""
    some = table.slice(0, most)
    wanted = _OF_PAIRS if set(_OF_PAIRS[:2]) <= set(some.column_names) else tuple(some.column_names)
    names = [name for name in wanted if name in some.column_names and some[name].null_count < len(some)]
    return names, [[shown(some[name][row].as_py()) for name in names] for row in range(len(some))]


def shown(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list):
        more = " …" if len(value) > _NUMBERS else ""
        return ", ".join(shown(part) for part in value[:_NUMBERS]) + more
    text = str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def counted(number: int) -> str:
    return f"{number:,}"
