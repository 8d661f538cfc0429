"""Keeping evaluation sentences out of training."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from encoder.data.corpora import CorpusFile, corpus_format
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from mining.errors import InputError
from mining.files import open_binary, readable_lines
from mining.parquet_batches import valid_batches
from mining.paths import extension

_NOT_WORD = re.compile(r"[\W_]+")


def exclusion_key(text: str) -> int:
    """The same number for sentences that differ only in case, width, white space or punctuation."""
    plain = _NOT_WORD.sub("", unicodedata.normalize("NFKC", text).casefold()) or text.strip()
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def read_exclusions(paths: Sequence[str]) -> frozenset[int]:
    """Keys of every sentence of these files: lines and cells of text, TSV and CSV, all strings of JSON and Parquet,
    both sides of gettext and TMX."""
    keys: set[int] = set()
    for path in paths:
        found = {exclusion_key(text) for text in _texts(path) if text.strip()}
        if not found:
            raise InputError(f"--exclude {path}: the file has no text, so nothing would be excluded")
        keys |= found
    return frozenset(keys)


def is_excluded(texts: Iterable[str], keys: frozenset[int]) -> bool:
    return bool(keys) and any(exclusion_key(text) in keys for text in texts)


def _texts(path: str) -> Iterator[str]:
    match extension(path):
        case "csv":
            yield from (cell for cells in csv.reader(_lines(path)) for cell in cells)
        case "jsonl":
            yield from (text for line in _lines(path) if line.strip() for text in _strings(_parsed(line, path)))
        case "json":
            yield from _strings(_parsed("\n".join(_lines(path)), path))
        case "parquet":
            yield from _cells(path)
        case "po" | "mo" | "tmx":
            rows = read_groups(CorpusFile(0, (path,), corpus_format(path), None, None))
            yield from (text for row in rows if isinstance(row, Group) for text in row.texts)
        case _:
            yield from (text for line in _lines(path) for text in (line, *line.split("\t")))


def _lines(path: str) -> Iterator[str]:
    for number, line in enumerate(readable_lines(path), 1):
        if line is None:
            raise InputError(f"--exclude {path}, line {number}: not valid UTF-8, so it would not be excluded")
        yield line


def _parsed(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"--exclude {path}: not valid JSON ({error})") from None


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _strings(part)


def _cells(path: str) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_binary(path) as stream:
            for batch in valid_batches(pq.ParquetFile(stream)):
                yield from _strings(batch.to_pydict())
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"--exclude {path}: cannot be read as Parquet ({error})") from None
