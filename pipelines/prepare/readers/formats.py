"""Which reader reads which file, and how files are cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from mining.errors import InputError
from mining.files import readable_lines
from mining.paths import compression_of, extension, resolve
from pipelines.prepare.readers import gettext, jsonl, lines, parquet, tables, web
from pipelines.prepare.readers.blocks import Block, Format, Read, ReadSettings, RowBatch

_READERS: dict[Format, Read] = {
    "txt": lines.read,
    "tsv": tables.read,
    "bucc": tables.read_bucc,
    "jsonl": jsonl.read,
    "parquet": parquet.read,
    "gettext": gettext.read,
    "wet": web.read_wet,
    "warc": web.read_warc,
    "html": web.read_html,
}
_LOOKED_AT, _NAMED = 20, 0.8  # lines that tell whether a file is `docid TAB sentence`, and how many have to be
_BY_LINES = frozenset({"txt", "tsv", "bucc", "jsonl"})
_EXTENSIONS: dict[str, Format] = {
    "tsv": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "parquet": "parquet",
    "po": "gettext",
    "mo": "gettext",
    "wet": "wet",
    "warc": "warc",
    "html": "html",
    "htm": "html",
}


def read_block(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """The batches of one block, in file order; every row read is in a batch's texts or in its `dropped`."""
    return _READERS[block.format](block, settings)


def reader_format(url: str) -> Format:
    """The format by extension, whatever the compression; plain lines when the extension says nothing."""
    return _EXTENSIONS.get(extension(url), "txt")


def document_format(url: str, settings: ReadSettings) -> Format:
    """The format of a file of documents: lines without another meaning may be `docid TAB sentence`."""
    kind = settings.format or reader_format(url)
    if settings.format is None and kind in ("txt", "tsv") and settings.column is None and _has_names(url):
        return "bucc"
    return kind


def _has_names(url: str) -> bool:
    """One broken line does not make a text of the file: it is dropped and counted."""
    first: list[str] = []
    try:
        first.extend(line for line in islice(readable_lines(url), _LOOKED_AT) if line)
    except InputError:
        if compression_of(url) is None:
            raise  # else the reader tells of the damage, or keeps what comes before it
    named = sum(line.count("\t") == 1 and bool(line.split("\t")[0].strip()) for line in first)
    return bool(first) and named >= _NAMED * len(first)


def cut_file(url: str, settings: ReadSettings, block_bytes: int, first: int) -> list[Block]:
    """The file in blocks of about `block_bytes`, numbered from `first`; compressed files and pages stay whole."""
    kind = settings.format or reader_format(url)
    ranges: list[tuple[int, int | None]] = [(0, None)]
    if kind == "parquet":
        ranges = parquet.cut(url, block_bytes)
    elif kind in _BY_LINES and compression_of(url) is None:
        filesystem, path = resolve(url)
        starts = list(range(0, max(filesystem.size(path), 1), block_bytes))
        ranges = list(zip(starts, [*starts[1:], None], strict=True))
    return [Block(first + i, url, kind, start, stop) for i, (start, stop) in enumerate(ranges)]
