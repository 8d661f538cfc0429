"""Blocks of line-based files as chunks of whole lines: the fast path under txt, TSV, BUCC and JSONL."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from mining.decompression import Damaged
from mining.encodings import Utf8Check, require_no_mark
from mining.files import open_decompressed
from pipelines.prepare.readers.blocks import BAD_UTF8, TRUNCATED, Block, ReadSettings, RowBatch, keep_rows
from pipelines.prepare.readers.streams import damage_error, read_some

CHUNK = 1 << 20

# Lines (None where not UTF-8), the number of the first, and the rows dropped so far by reason.
Parse = Callable[[list[str | None], int, Counter[str]], RowBatch]


def read(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """One sentence per line."""
    return read_lines(block, settings, lambda lines, first, dropped: keep_rows(lines, first, settings, dropped))


def read_lines(block: Block, settings: ReadSettings, parse: Parse) -> Iterator[RowBatch]:
    """The lines that begin inside the block, about a megabyte at a time, through `parse`."""
    line = 0
    check = Utf8Check(block.url)
    with open_decompressed(block.url) as stream:
        try:
            for chunk in whole_lines(stream, block, 4 * settings.max_chars + CHUNK):
                lines = decode_lines(chunk, check, line)
                yield parse(lines, line + 1, +Counter({BAD_UTF8: lines.count(None)}))
                line += len(lines)
        except Damaged as error:
            if settings.truncated == "stop":
                raise damage_error(block.url, f"line {line}", error) from None
            yield RowBatch([], np.zeros(0, np.int64), None, Counter({TRUNCATED: 1}), line)
    check.finish(line)


def decode_lines(chunk: bytes, check: Utf8Check, before: int) -> list[str | None]:
    """Whole lines without their ends; None for a line that is not UTF-8, which `check` counts."""
    try:
        lines = cast(list[str | None], chunk.decode("utf-8").split("\n"))
    except UnicodeDecodeError:
        lines = [_decode(line, check, number) for number, line in enumerate(chunk.split(b"\n"), before + 1)]
    if lines[-1] == "":
        lines.pop()  # what follows the final newline is not a line
    if b"\r" in chunk:
        return [line and line.removesuffix("\r") for line in lines]
    return lines


def _decode(line: bytes, check: Utf8Check, number: int) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        check.add(line, number)
        return None


def whole_lines(stream: Any, block: Block, longest: int) -> Iterator[bytes]:
    """Chunks that end at line ends; a line beyond `longest` bytes is cut there, so memory stays bounded.

    A byte range owns the lines that begin in it: it skips the line begun before it and finishes its last one.
    """
    begin = _skip_foreign_line(stream, block.start) if block.start else 0  # where `carry` lies in the file
    carry = b""
    cut = False  # inside a line whose beginning was given out already
    while block.stop is None or begin < block.stop:
        piece = read_some(stream, CHUNK)
        if not piece:
            if carry:
                yield carry
            return
        if begin == 0 and not carry:
            require_no_mark(piece, block.url)
            if piece.startswith(BOM_UTF8):
                piece, begin = piece[len(BOM_UTF8) :], len(BOM_UTF8)
        if cut:
            end = piece.find(b"\n") + 1
            cut = not end
            begin += end or len(piece)
            piece = piece[end:] if end else b""
        carry += piece
        if end := _owned_end(carry, begin, block.stop):
            yield carry[:end]
            begin, carry = begin + end, carry[end:]
        elif len(carry) > longest:
            yield _at_character(carry[:longest])
            begin, carry, cut = begin + len(carry), b"", True


def _skip_foreign_line(stream: Any, start: int) -> int:
    """Move the stream past the line that begins before `start`; where that is in the file."""
    position = start - 1
    stream.seek(position)
    while piece := read_some(stream, 1 << 12):
        if end := piece.find(b"\n") + 1:
            stream.seek(position + end)
            return position + end
        position += len(piece)
    return position


def _owned_end(carry: bytes, begin: int, stop: int | None) -> int:
    """Where the last whole line that begins before `stop` ends; 0 when none is whole yet."""
    if stop is None or begin + len(carry) <= stop:
        return carry.rfind(b"\n") + 1
    return carry.find(b"\n", stop - 1 - begin) + 1 or carry.rfind(b"\n") + 1


def _at_character(line: bytes) -> bytes:
    """The line cut before the character that its last bytes begin, so that it stays valid UTF-8."""
    end = len(line) - 1
    while end > len(line) - 5 and line[end] & 0xC0 == 0x80:
        end -= 1
    return line[:end]
