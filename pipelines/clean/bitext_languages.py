"""The languages of a bitext where nobody names them."""

from __future__ import annotations

from itertools import islice

from encoder.languages import canonical
from mining.errors import InputError
from mining.language_id import detect, is_known
from mining.pair_formats import Format
from mining.tmx import primary
from mining.translation_units import iterate_units
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings

_LOOKED_AT = 2000  # rows
_LEAST_SHARE = 0.5  # of the sentences: a bitext that wants cleaning has others


def with_languages(bitext: BitextSettings) -> tuple[BitextSettings, list[str]]:
    """The bitext with languages named by its first units, or detected from its first rows; and notes for a person."""
    names = "src_lang", "tgt_lang"
    given = [getattr(bitext, name) for name in names]
    if all(given) or bitext.kind == Format.MOSES:  # whose files are named by their languages
        return bitext, []
    names_them = bitext.kind == Format.TMX
    found = _of_units(bitext) if names_them else _of_texts(bitext)
    told = "named by the first unit of the TMX" if names_them else "detected from the text"
    chosen, notes = {}, []
    for side, name, known, lang in zip(("source", "target"), names, given, found, strict=True):
        if not known and lang:
            chosen[name] = lang
            notes.append(f"{side} language: {lang}, {told}")
    return bitext.model_copy(update=chosen), notes


def _of_texts(bitext: BitextSettings) -> list[str | None]:
    first = next(iter(read_chunks(bitext, _LOOKED_AT)), None)
    found: list[str | None] = []
    for name in ("source", "target"):
        texts = first[name].drop_null().to_pylist() if first is not None else []
        lang = detect(texts) if texts else None
        sure = lang is not None and is_known(lang.language) and lang.shares.get(lang.language, 0.0) >= _LEAST_SHARE
        found.append(lang.language if lang is not None and sure else None)
    return found


def _of_units(bitext: BitextSettings) -> list[str | None]:
    """Of a translation memory as its first unit of two languages names them."""
    for _, variants in islice(iterate_units(bitext.path), _LOOKED_AT):
        if len(variants) >= 2:
            return [_code(variant.language) for variant in variants[:2]]
    return [None, None]


def _code(language: str) -> str | None:
    try:
        return primary(language) if canonical(primary(language)) == primary(language) else None
    except InputError:
        return None
