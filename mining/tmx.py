"""TMX 1.4, the exchange format of translation memories, written and read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import IO
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from mining.pairs import REJECTED_SCHEMA, SCHEMA, peek, rebatch
from mining.translation_units import Variant, iterate_units, local_name

# XML 1.0 has no way to write these, not even escaped.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_UNIT_PROPS = ("score", "cosine", "directions", "reason")
_SIDE_PROPS = ("id", "source", "line", "ref")
_TYPES = {field.name: field.type for field in REJECTED_SCHEMA}


def write_tmx(stream: IO[str], tables: Iterable[pa.Table], src_lang: str, tgt_lang: str) -> int:
    """Write conformed pairs as translation units; scores, ids and provenance become `prop` elements."""
    return write_units(stream, pair_units(tables, src_lang, tgt_lang), src_lang)


def pair_units(tables: Iterable[pa.Table], src_lang: str, tgt_lang: str) -> Iterator[str]:
    """Conformed pairs as the XML of translation units."""
    languages = {"src": quoteattr(src_lang), "tgt": quoteattr(tgt_lang)}
    return (_unit(row, languages) for table in tables for row in _rows(table))


def write_units(stream: IO[str], units: Iterable[str], src_lang: str) -> int:
    """Write a file of translation units that are XML already, and return how many."""
    stream.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
        f'<header creationtool="twinlode" creationtoolversion={quoteattr(version("twinlode"))} segtype="sentence" '
        f'o-tmf="twinlode" adminlang="en" srclang={quoteattr(src_lang)} datatype="plaintext"/>\n<body>\n'
    )
    count = 0
    for count, unit in enumerate(units, 1):  # noqa: B007 - the number of the last is returned
        stream.write(f"{unit}\n")
    stream.write("</body>\n</tmx>\n")
    return count


def read_tmx(url: str, src_lang: str | None = None, tgt_lang: str | None = None) -> Iterator[pa.RecordBatch]:
    """Record batches of pairs; without languages the first two segments of each unit are source and target.

    Units without a segment in each of the two languages are left out, as TMX files of many languages have them.
    """
    found = (_row(unit, variants, src_lang, tgt_lang) for unit, variants in iterate_units(url))
    first, rows = peek(row for row in found if row is not None)
    yield from rebatch(rows, REJECTED_SCHEMA if first and "reason" in first else SCHEMA)


def _rows(table: pa.Table) -> Iterator[dict[str, str]]:
    """Rows with every value as text and nulls left out; Arrow's cast gives a float32 its shortest form."""
    names = [field.name for field in table.schema if not pa.types.is_list(field.type)]
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in names]
    for values in zip(*columns, strict=True):
        yield {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _unit(row: dict[str, str], languages: dict[str, str]) -> str:
    sides = "".join(_variant(row, side, language) for side, language in languages.items())
    return f"<tu>{_props(row, _UNIT_PROPS)}{sides}</tu>"


def _variant(row: dict[str, str], side: str, language: str) -> str:
    props, text = _props(row, _SIDE_PROPS, f"{side}_"), _content(row[f"{side}_text"])
    return f"<tuv xml:lang={language}>{props}<seg>{text}</seg></tuv>"


def _props(row: dict[str, str], names: tuple[str, ...], prefix: str = "") -> str:
    present = [(name, row[prefix + name]) for name in names if prefix + name in row]
    return "".join(f'<prop type="{name}">{_content(value)}</prop>' for name, value in present)


def _content(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    return escape(_ILLEGAL.sub("", text), {"\r": "&#13;"})


def _row(
    unit: ElementTree.Element, variants: list[Variant], src_lang: str | None, tgt_lang: str | None
) -> dict[str, object] | None:
    source = pick_variant(variants, src_lang, 0)
    target = pick_variant(variants, tgt_lang, 1)
    if source is None or target is None:
        return None
    row: dict[str, object] = _read_props(unit, _UNIT_PROPS)
    for side, variant in (("src", source), ("tgt", target)):
        row |= _read_props(variant.element, _SIDE_PROPS, f"{side}_")
        row[f"{side}_text"] = variant.text
    return row


def pick_variant(variants: list[Variant], language: str | None, place: int) -> Variant | None:
    """The variant in a language, a regional one if need be; without a language that at a place."""
    if language is None:
        return variants[place] if len(variants) > place else None
    wanted = language.lower()
    exact = [variant for variant in variants if variant.language.lower() == wanted]
    regional = [variant for variant in variants if primary(variant.language) == wanted]
    return next(iter(exact + regional), None)


def primary(language: str) -> str:
    """`en` of `en-GB`, and of `en_US`, as some tools write it."""
    return language.lower().replace("_", "-").split("-")[0]


def _read_props(element: ElementTree.Element, names: tuple[str, ...], prefix: str = "") -> dict[str, object]:
    """Our own properties; those of other tools, or of the wrong type, are not ours to judge."""
    found: dict[str, object] = {}
    for prop in (child for child in element if local_name(child) == "prop"):
        name = prefix + (prop.get("type") or "")
        if name.removeprefix(prefix) in names:
            try:
                found[name] = pa.scalar(prop.text or "", pa.string()).cast(_TYPES[name]).as_py()
            except pa.ArrowInvalid:
                continue
    return found
