"""A bitext of any format as chunks of numbered rows: good ones with both texts, others with the reason why not."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from pydantic import Field

from encoder.settings import Settings
from mining.errors import InputError
from mining.files import open_binary, readable_lines
from mining.pair_formats import Format, format_of, moses_urls, read_pairs

CHUNK = 8192  # rows: their graph is a second's work, and neighbours enough for a margin
SCHEMA = pa.schema(
    [
        ("line", pa.int64()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("record", pa.string()),  # the whole row as it stood there, where it is a line
        ("reason", pa.string()),  # null where the row is a pair
    ]
)
_DUPLICATES = 1 << 24  # pairs remembered, by 8 bytes each


class BitextSettings(Settings):
    """Where the pairs are, and which columns hold them."""

    path: str = Field(description="The bitext: a file, a URL, or the prefix of a Moses pair.")
    format: Format | None = Field(None, description="Its format; by extension when not given.")
    src_lang: str | None = Field(None, description="Language of the first side.")
    tgt_lang: str | None = Field(None, description="Language of the second side.")
    columns: tuple[str, str] | None = Field(None, description="TSV: numbers from 1; JSONL: names.")

    @property
    def kind(self) -> Format:
        return self.format or (Format.MOSES if _is_zip(self.path) else format_of(self.path))

    @property
    def files(self) -> list[str]:
        """What is read."""
        if self.kind == Format.MOSES and self.src_lang and self.tgt_lang:
            return list(moses_urls(self.path, self.src_lang, self.tgt_lang))
        return [self.path]


class Row(NamedTuple):
    """One row; without a reason it is a pair."""

    source: str | None
    target: str | None
    record: str | None = None
    reason: str | None = None


def read_chunks(settings: BitextSettings, size: int = CHUNK) -> Iterator[pa.Table]:
    """Chunks of rows in order; a pair that came before, but for case and punctuation, is a duplicate."""
    rows = enumerate(_rows(settings), 1)
    seen = _Seen()
    while chunk := list(islice(rows, size)):
        checked = [(line, seen.check(row) if row.reason is None else row) for line, row in chunk]
        columns = [[line for line, _ in checked], *zip(*(row for _, row in checked), strict=True)]
        yield pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)


def _rows(settings: BitextSettings) -> Iterator[Row]:
    if settings.kind == Format.TSV:
        return _tsv(settings)
    if settings.kind == Format.JSONL:
        return _jsonl(settings)
    if settings.kind == Format.MOSES:
        return _moses(settings)
    batches = read_pairs(settings.path, format=settings.kind, src_lang=settings.src_lang, tgt_lang=settings.tgt_lang)
    return (
        _pair(source, target, None)
        for batch in batches
        for source, target in zip(batch["src_text"].to_pylist(), batch["tgt_text"].to_pylist(), strict=True)
    )


def _tsv(settings: BitextSettings) -> Iterator[Row]:
    width = places = None
    for line in readable_lines(settings.path):
        if line is None:
            yield Row(None, None, None, "not UTF-8")
            continue
        cells = line.split("\t")
        if width is None or places is None:
            width, places = len(cells), _places(settings, cells)
        if len(cells) != width:
            yield Row(None, None, line, "columns")
        else:
            yield _pair(cells[places[0]], cells[places[1]], line)


def _places(settings: BitextSettings, cells: list[str]) -> tuple[int, int]:
    """The columns of both texts: as told, the only two, or those behind the score of a mined file."""
    if settings.columns is not None:
        numbers = [int(name) - 1 if name.isdecimal() else -1 for name in settings.columns]
        if min(numbers) < 0 or max(numbers) >= len(cells):
            raise InputError(
                f"{settings.path}: its first row has {len(cells)} columns, so --columns {' '.join(settings.columns)} "
                "are not there; count from 1"
            )
        return numbers[0], numbers[1]
    if len(cells) == 2:
        return 0, 1
    if len(cells) in (3, 4) and _is_number(cells[0]):
        return 1, 2
    raise InputError(f"{settings.path}, line 1: {len(cells)} columns; say which hold the texts, as --columns 1 2")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _jsonl(settings: BitextSettings) -> Iterator[Row]:
    names = settings.columns or ("src_text", "tgt_text")
    for line in readable_lines(settings.path):
        if line is None:
            yield Row(None, None, None, "not UTF-8")
            continue
        try:
            entry: Any = json.loads(line)
        except ValueError:
            yield Row(None, None, line, "not JSON")
            continue
        texts = [entry.get(name) if isinstance(entry, dict) else None for name in names]
        yield _pair(texts[0], texts[1], line)


def _moses(settings: BitextSettings) -> Iterator[Row]:
    if not settings.src_lang or not settings.tgt_lang:
        raise InputError(f"{settings.path}: a Moses pair needs both languages (--src-lang and --tgt-lang)")
    end = object()
    files = _zipped if _is_zip(settings.path) else moses_urls
    sides = (readable_lines(url) for url in files(settings.path, settings.src_lang, settings.tgt_lang))
    for source, target in zip_longest(*sides, fillvalue=end):
        if source is end or target is end:
            yield Row(None, None, None, "other side missing")
        elif source is None or target is None:
            yield Row(None, None, None, "not UTF-8")
        else:
            yield _pair(source, target, None)


def _is_zip(path: str) -> bool:
    return path.lower().endswith(".zip")


def _zipped(path: str, src_lang: str, tgt_lang: str) -> tuple[str, str]:
    """The two text files of a zip as OPUS gives them: `Corpus.de-en.de` and `Corpus.de-en.en`, among others."""
    with open_binary(path) as stream:
        try:
            names = zipfile.ZipFile(stream).namelist()
        except zipfile.BadZipFile:
            raise InputError(f"{path}: not a zip file, or a damaged one") from None
    found = []
    for lang in (src_lang, tgt_lang):
        fitting = [name for name in names if name.endswith(f".{lang}")]
        if len(fitting) != 1:
            raise InputError(f"{path}: {len(fitting)} files in it end with .{lang}, where one is needed")
        found.append(f"zip://{fitting[0]}::{path}")
    return found[0], found[1]


def _pair(source: Any, target: Any, record: str | None) -> Row:
    if not isinstance(source, str) or not isinstance(target, str):
        return Row(None, None, record, "no text")
    if not source.strip() or not target.strip():
        return Row(source, target, record, "empty")
    try:
        source.encode(), target.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can write
        return Row(None, None, None, "not UTF-8")
    return Row(source.strip(), target.strip(), record)


class _Seen:
    """Hashes of the pairs so far, in a table of fixed size: of more pairs than it holds, some duplicates stay."""

    def __init__(self) -> None:
        self._table = np.zeros(_DUPLICATES, np.uint64)

    def check(self, row: Row) -> Row:
        key = xxhash.xxh3_64_intdigest(f"{_letters(row.source)}\t{_letters(row.target)}".encode())
        place = key % _DUPLICATES
        if int(self._table[place]) == key:
            return row._replace(reason="duplicate")
        self._table[place] = key
        return row


def _letters(text: str | None) -> str:
    """Letters and digits alone, in lower case; a text without any stands for itself."""
    plain = "".join(filter(str.isalnum, (text or "").lower()))
    return plain or (text or "")


def count_reasons(tables: Iterable[pa.Table]) -> dict[str, tuple[int, list[int]]]:
    """For each reason how many rows, and the first line numbers."""
    found: dict[str, tuple[int, list[int]]] = {}
    for table in tables:
        for reason, line in zip(table["reason"].to_pylist(), table["line"].to_pylist(), strict=True):
            if reason is not None:
                count, lines = found.get(reason, (0, []))
                found[reason] = count + 1, [*lines, line] if len(lines) < 3 else lines
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))
