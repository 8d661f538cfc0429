"""The rows of a bitext in any format, one by one: pairs, and what is none with the reason why."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple
from xml.etree import ElementTree

from pydantic import Field, field_validator

from encoder.settings import Settings
from mining.errors import InputError
from mining.files import open_binary, readable_lines
from mining.pair_formats import Format, format_of, moses_urls
from mining.paths import exists
from mining.tmx import pick_variant
from mining.translation_units import iterate_units, local_name

HEAD = 100  # rows of a TSV that tell how many columns it has: the first alone may be a broken one
TEXTS = ("src_text", "tgt_text")  # what columns and fields are called where nobody says


class BitextSettings(Settings):
    """Where the pairs are, and which columns hold them."""

    path: str = Field(
        description="Pairs: a file, a URL, or the prefix of a Moses pair; those of --seed-pairs are known translations."
    )
    format: Format | None = Field(None, description="Its format; by extension when not given.")
    src_lang: str | None = Field(None, description="Language of the first side.")
    tgt_lang: str | None = Field(None, description="Language of the second side.")
    columns: tuple[str, str] | None = Field(None, description="TSV: numbers from 1; JSONL and Parquet: names.")

    @field_validator("columns")
    @classmethod
    def _two(cls, columns: tuple[str, str] | None) -> tuple[str, str] | None:
        if columns is not None and columns[0] == columns[1]:
            raise ValueError(f"columns: both texts cannot be in column {columns[0]}")
        return columns

    @property
    def kind(self) -> Format:
        if self.format is not None:
            return self.format
        if _is_zip(self.path):
            return Format.MOSES
        try:
            return format_of(self.path)
        except InputError:
            if self.src_lang and self.tgt_lang and exists(moses_urls(self.path, self.src_lang, self.tgt_lang)[0]):
                return Format.MOSES
            raise

    @property
    def files(self) -> list[str]:
        """What is read."""
        if self.kind == Format.MOSES and not _is_zip(self.path) and self.src_lang and self.tgt_lang:
            return list(moses_urls(self.path, self.src_lang, self.tgt_lang))
        return [self.path]


class BitextRow(NamedTuple):
    """One row; without a reason it is a pair."""

    source: str | None
    target: str | None
    record: str | None = None  # the whole row as it stood there, where it is text
    reason: str | None = None


def read_rows(settings: BitextSettings) -> Iterator[BitextRow]:
    """The rows of a format that wants a parser for each; others are read by the column (`bitext_tables`)."""
    return {Format.JSONL: _jsonl, Format.TMX: _tmx}[settings.kind](settings)


def text_places(settings: BitextSettings, cells: list[str]) -> tuple[int, int]:
    """The columns of both texts: as told, the only two, or those behind the score of a mined file."""
    if settings.columns is not None:
        numbers = [int(name) - 1 if name.isdecimal() else -1 for name in settings.columns]
        if min(numbers) < 0 or max(numbers) >= len(cells):
            raise InputError(
                f"{settings.path}: its rows have {len(cells)} columns, so --columns {' '.join(settings.columns)} "
                "are not there; count from 1"
            )
        return numbers[0], numbers[1]
    if len(cells) == 2:
        return 0, 1
    if len(cells) in (3, 4) and _is_number(cells[0]):
        return 1, 2
    raise InputError(f"{settings.path}: {len(cells)} columns; say which hold the texts, as --columns 1 2")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _jsonl(settings: BitextSettings) -> Iterator[BitextRow]:
    names = settings.columns or TEXTS
    lines = readable_lines(settings.path)
    head = list(islice(lines, HEAD))
    _require_fields(settings.path, head, names)
    for line in chain(head, lines):
        if line is None:
            yield BitextRow(None, None, None, "not UTF-8")
            continue
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            yield BitextRow(None, None, line, "not JSON")
            continue
        texts = [entry.get(name) if isinstance(entry, dict) else None for name in names]
        yield as_row(texts[0], texts[1], line)


def _require_fields(path: str, lines: Sequence[str | None], names: tuple[str, str]) -> None:
    """An error where there are objects, and none of them has these fields."""
    found: dict[str, None] = {}
    for line in lines:
        with suppress(ValueError, RecursionError):
            entry = json.loads(line or "")
            found |= dict.fromkeys(entry if isinstance(entry, dict) else ())
    if found and not found.keys() & set(names):
        fields = ", ".join(list(found)[:10])
        told = f"{path}: no field {names[0]!r} or {names[1]!r}; say which hold the texts, as --columns de en"
        raise InputError(f"{told}. There are: {fields}")


def moses_files(settings: BitextSettings) -> tuple[str, str]:
    """The files of both sides."""
    if not settings.src_lang or not settings.tgt_lang:
        raise InputError(f"{settings.path}: a Moses pair needs both languages (--src-lang and --tgt-lang)")
    files = _zipped if _is_zip(settings.path) else moses_urls
    return files(settings.path, settings.src_lang, settings.tgt_lang)


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


def _tmx(settings: BitextSettings) -> Iterator[BitextRow]:
    """A unit is a row, and its XML the record, so that properties and notes of other tools stay with it."""
    for unit, variants in iterate_units(settings.path):
        source, target = pick_variant(variants, settings.src_lang, 0), pick_variant(variants, settings.tgt_lang, 1)
        record = _as_xml(unit)
        if source is None or target is None:
            yield BitextRow(None, None, record, "language missing")
        else:
            yield as_row(source.text, target.text, record)


def _as_xml(unit: ElementTree.Element) -> str:
    """A unit on one line, without the namespace that it may have."""
    for element in unit.iter():
        element.tag = local_name(element)
    unit.tail = None
    return " ".join(ElementTree.tostring(unit, encoding="unicode").splitlines())


def as_row(source: Any, target: Any, record: str | None = None) -> BitextRow:
    """A pair, or the reason why these are none."""
    if not isinstance(source, str) or not isinstance(target, str):
        return BitextRow(None, None, record, "no text")
    plain = source.strip(), target.strip()
    if not all(plain):
        return BitextRow(source, target, record, "empty")
    try:
        source.encode(), target.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can write
        return BitextRow(None, None, None, "not UTF-8")
    return BitextRow(*plain, record)
