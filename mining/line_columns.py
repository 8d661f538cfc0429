"""The lines of a text file as Arrow columns: no object for each line, which costs more than most uses of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from mining.encodings import Utf8Check
from mining.files import raw_lines


def line_columns(url: str, size: int) -> Iterator[pa.LargeStringArray]:
    """`files.readable_lines` by columns of `size` lines (the last has fewer): null where a line is not UTF-8."""
    check, number = Utf8Check(url), 0
    lines = raw_lines(url)
    while block := list(islice(lines, size)):
        try:
            column = pa.array(block, pa.large_binary()).cast(pa.large_string())
        except pa.ArrowInvalid:
            column = pa.array(map(check.decoded, block, range(number + 1, number + len(block) + 1)), pa.large_string())
        number += len(block)
        yield pc.ascii_rtrim(column, "\r\n")
    check.finish(number)
