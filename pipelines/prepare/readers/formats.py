"""Which reader reads which file, and how files are found and cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsspec.core import url_to_fs

from encoder.urls import found_url, own_name
from mining.errors import InputError
from pipelines.prepare.readers import gettext, jsonl, lines, parquet, tables, web
from pipelines.prepare.readers.blocks import Batch, Block, Format, Read, ReadSettings
from pipelines.prepare.readers.streams import COMPRESSED, is_compressed

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


def read_block(block: Block, settings: ReadSettings) -> Iterator[Batch]:
    """The batches of one block, in file order; every row read is in a batch's texts or in its `dropped`."""
    return _READERS[block.format](block, settings)


def format_of(url: str) -> Format:
    """The format by extension, whatever the compression; plain lines when the extension says nothing."""
    names = own_name(url).rsplit("/", 1)[-1].lower().split(".")[1:]
    known = [name for name in names if name not in COMPRESSED]
    return _EXTENSIONS.get(known[-1], "txt") if known else "txt"


def expand(patterns: Sequence[str]) -> list[str]:
    """The files of paths, URLs and globs: in the order given, a glob's files sorted, each file once."""
    urls: dict[str, None] = {}
    for pattern in patterns:
        filesystem, path = url_to_fs(pattern)
        if any(sign in path for sign in "*?["):
            found = sorted(p for p in filesystem.glob(path) if not filesystem.isdir(p))
            if not found:
                raise InputError(f"{pattern}: no file matches; quote the pattern and check the folder")
        elif filesystem.isdir(path):
            raise InputError(f"{pattern} is a folder; name its files, for example {pattern.rstrip('/')}/*.txt")
        elif filesystem.exists(path):
            found = [path]
        else:
            raise InputError(f"{pattern}: no such file")
        urls |= dict.fromkeys(found_url(filesystem, name, pattern) for name in found)
    return list(urls)


def cut_file(url: str, settings: ReadSettings, block_bytes: int, first: int) -> list[Block]:
    """The file in blocks of about `block_bytes`, numbered from `first`; compressed files and pages stay whole."""
    kind = settings.format or format_of(url)
    ranges: list[tuple[int, int | None]] = [(0, None)]
    if kind == "parquet":
        ranges = parquet.cut(url, block_bytes)
    elif kind in _BY_LINES and not is_compressed(url):
        filesystem, path = url_to_fs(url)
        starts = list(range(0, max(filesystem.size(path), 1), block_bytes))
        ranges = list(zip(starts, [*starts[1:], None], strict=True))
    return [Block(first + i, url, kind, start, stop) for i, (start, stop) in enumerate(ranges)]
