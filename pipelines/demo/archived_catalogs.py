"""Translation catalogs inside archives: found by language, and read as pairs without unpacking anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from zipfile import BadZipFile

from fsspec.implementations.zip import ZipFileSystem

from encoder.data.corpora import CorpusFile
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from encoder.normalize import normalize
from mining.errors import InputError
from pipelines.demo.messages import is_sentence_pair, plain
from pipelines.prepare.parts import CLEANING

# Names of locale folders in order of preference, where the language code alone is not (the only) one.
_LOCALES = {
    "ar": ("ar", "ar_sa", "ar_eg"),
    "cs": ("cs", "cs_cz"),
    "ja": ("ja", "ja_jp"),
    "pt": ("pt_br", "pt", "pt_pt"),
    "zh": ("zh_hans", "zh_cn", "zh_hans_cn", "zh"),
}
_CATALOG = re.compile(r"^(?P<place>.*?)(?P<locale>[A-Za-z_-]+)/LC_MESSAGES/(?P<name>[^/]+)\.(?P<format>mo|po)$")


class Pair(NamedTuple):
    english: str
    other: str


class _Catalog(NamedTuple):
    path: str
    domain: str  # the same for all languages and both formats
    locale: str
    format: Literal["mo", "po"]


def read_pairs(archives: Sequence[Path], language: str) -> list[Pair]:
    """All translated sentences of a language in the archives, plain and in the normal form of prepared sentences."""
    groups = [texts for archive in archives for texts in _messages(archive, language)]
    sides = [normalize([plain(texts[side]) for texts in groups], CLEANING) for side in (0, 1)]
    pairs = (Pair(*texts) for texts in zip(*sides, strict=True))
    return [pair for pair in dict.fromkeys(pairs) if is_sentence_pair(*pair)]


def _messages(archive: Path, language: str) -> Iterator[tuple[str, ...]]:
    for catalog in _choose(_catalogs(archive), language):
        url = f"zip://{catalog.path}::{archive.absolute().as_uri()}"
        for row in read_groups(CorpusFile(0, (url,), catalog.format, ("en", language), None)):
            if isinstance(row, Group):
                yield row.texts


def _catalogs(archive: Path) -> list[_Catalog]:
    try:
        names = ZipFileSystem(str(archive)).find("")
    except (BadZipFile, OSError) as error:
        raise InputError(f"{archive}: not a readable archive ({error}); delete it and run again") from None
    return [_catalog(match) for name in sorted(names) if (match := _CATALOG.match(name))]


def _catalog(match: re.Match[str]) -> _Catalog:
    locale = match["locale"].lower().replace("-", "_")
    return _Catalog(match[0], match["place"] + match["name"], locale, "mo" if match["format"] == "mo" else "po")


def _choose(catalogs: Sequence[_Catalog], language: str) -> list[_Catalog]:
    """One catalog of the language for each domain: the preferred locale, compiled rather than not (no drafts in it)."""
    names = _LOCALES.get(language, (language, f"{language}_{language}"))
    ranked = sorted(
        (catalog for catalog in catalogs if catalog.locale in names),
        key=lambda catalog: (names.index(catalog.locale), catalog.format),
    )
    chosen: dict[str, _Catalog] = {}
    for catalog in ranked:
        chosen.setdefault(catalog.domain, catalog)
    return list(chosen.values())
