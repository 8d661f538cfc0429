"""Parallel text of 140 languages out of packages: messages of programs, games and wikis, names and dictionaries.

    apt-get install apt-file && apt-file update
    python -m tests.benchmarks.package_text runs/package-text [--archives FOLDER] [--without GLOB ...]

What configs/ems-small.yaml trains on besides ../shared/data. Needs Debian (12 was used) and npm; fetches some 900 MB.
Everything is free software or under Unicode's licence; sentences of `--without` are left out.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import io
import json
import lzma
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from encoder.data.exclusion import is_excluded, read_exclusions
from encoder.languages import canonical
from mining.errors import InputError
from mining.paths import matching
from pipelines.demo.messages import identity, plain
from tests.benchmarks.package_archives import debian_names, debian_names_with, fetch_debian, fetch_npm, members

_FEWEST_PAIRS = 4_000  # of a language that is kept
_MOST_OF_A_DICTIONARY = 40_000
_MOST_CHARACTERS = 300
_FEWEST_EXCLUDED_WORDS = 4  # shorter ones are everybody's
_CATALOG_BYTES = 8_000_000
# Locales that are written otherwise than their language is elsewhere, are English, or name no single language.
_OTHER_LOCALES = re.compile(
    r"en|en-.*|zh-(tw|hk|hant.*)|sr-latn|.*@(?!.*euro).*|kk-(arab|latn|cn|tr)|tg-latn|uz-cyrl|ku-arab|tt-latn|ug-latn|"
    r"(az|ha|pa)-arab|(ks|sd)-deva|bm-nkoo|ff-adlm|yue-hans|sat-latn|roa.*|zza|diq|qqq|gan.*|kha|shn|ksh|frr|pcm"
)
_WIKI_MARKUP = re.compile(
    r"\[\[[^\]|]*\||\]\]|\[\[|'{2,}|__\w+__|\{\{[^{}]*\}\}|\[(?:https?:)?//\S+ ?|\[\$\d+ ?|\]|\$\d+|<[^<>]*>|"
    r"^[*#:=]+|=+$|&\w+;"
)
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"  # of numbers in an index of dictd


class Translation(NamedTuple):
    english: str
    lang: str
    text: str


@lru_cache
def language(locale: str) -> str | None:
    """The language of a locale's name, or none."""
    name = locale.replace("_", "-").split(".")[0].lower()
    if _OTHER_LOCALES.fullmatch(name):
        return None
    try:
        return canonical(name.split("-")[0].split("@")[0])
    except InputError:
        return None


def is_translation(english: str, text: str, fewest_words: int) -> bool:
    """Words on both sides, enough of them, not the same."""
    words = sum(any(c.isalpha() for c in word) for word in english.split())
    return (
        words >= fewest_words
        and 0 < len(english) <= _MOST_CHARACTERS
        and 0 < len(text) <= _MOST_CHARACTERS
        and identity(english) != identity(text)
        and _is_wordy(english)
        and _is_wordy(text)
    )


def _is_wordy(text: str) -> bool:
    # Vowel signs of Indic scripts are no letters.
    return sum(c.isalpha() or c.isspace() or ord(c) >= 0x900 for c in text) >= 0.7 * len(text)


def catalogs(archives: Iterable[Path], fewest_words: int) -> Iterator[Translation]:
    """Messages of gettext catalogs."""
    plain_english = lru_cache(1_000_000)(plain)
    for archive in archives:
        for match, data in members(archive, r"/([A-Za-z_@.]+)/LC_MESSAGES/[^/]+\.mo$"):
            if (lang := language(match[1])) is None:
                continue
            for english, text in _messages(data):
                pair = plain_english(english), plain(text)
                if is_translation(*pair, fewest_words):
                    yield Translation(pair[0], lang, pair[1])


def _messages(data: bytes) -> Iterator[tuple[str, str]]:
    try:
        table: dict[Any, str] = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
    except (OSError, ValueError, LookupError):
        return
    for key, text in table.items():
        if isinstance(key, str) and key and text:  # no plural forms
            english = key.split("\x04")[-1]  # behind the context
            if not english.startswith("@") and "\n\n" not in english:
                yield english, text


def mediawiki(archives: Iterable[Path]) -> Iterator[Translation]:
    """Messages of MediaWiki and its extensions, without markup."""
    tables: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for archive in archives:
        for match, data in members(archive, r"(.*/i18n/(?:[a-z0-9]+/)?)([a-z-]+)\.json$"):
            tables[match[1]][match[2]] = json.loads(data)
    for by_locale in tables.values():
        yield from _by_key(by_locale, 2, lambda text: " ".join(_WIKI_MARKUP.sub(" ", text).split()))


def _by_key(
    tables: Mapping[str, Mapping[str, Any]], fewest_words: int, clean: Callable[[str], str] = str.strip
) -> Iterator[Translation]:
    """Texts of the same key in English and other languages."""
    english = {key: clean(text) for key, text in tables.get("en", {}).items() if _is_line(text)}
    for locale, table in tables.items():
        if (lang := language(locale)) is None:
            continue
        for key, text in table.items():
            if key in english and _is_line(text) and is_translation(english[key], clean(text), fewest_words):
                yield Translation(english[key], lang, clean(text))


def _is_line(text: Any) -> bool:
    return isinstance(text, str) and "\n" not in text.strip()


def unicode_names(annotations: Iterable[Path], names: Path) -> Iterator[Translation]:
    """What emoji, territories, languages and scripts are called."""
    for archive in annotations:
        tables = {}
        for match, data in members(archive, r"/annotations(?:Derived)?/([^/]+)/annotations\.json$"):
            (tree,) = json.loads(data).values()
            tables[match[1]] = {
                sign: row["tts"][0] for sign, row in tree.get("annotations", {}).items() if "tts" in row
            }
        yield from _by_key(_without_regions(tables), 1)
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for match, data in members(names, r"/main/([^/]+)/(territories|languages|scripts)\.json$"):
        table = json.loads(data)["main"][match[1]]["localeDisplayNames"][match[2]]
        found[match[1]] |= {f"{match[2]} {key}": text for key, text in table.items() if len(text) > 1}
    yield from _by_key(_without_regions(found), 1)


def _without_regions(tables: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    return {locale: table for locale, table in tables.items() if "-" not in locale}


def places(archive: Path) -> Iterator[Translation]:
    """What editors of OpenStreetMap call kinds of places and their properties."""
    trees = {match[1]: json.loads(data) for match, data in members(archive, r"/dist/translations/([\w-]+)\.json$")}
    yield from _by_key({name: dict(_leaves(tree.get(name, tree), "")) for name, tree in trees.items()}, 1)


def _leaves(tree: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}/{key}")
        elif key in ("name", "label", "placeholder", "title", "description") or path.endswith("/options"):
            yield f"{path}/{key}", value


def dictionary(archive: Path) -> Iterator[Translation]:
    """Entries of a FreeDict dictionary with English on one side: the first translation of each."""
    sides = archive.name.split("_")[0].split("-")[2:]
    lang = language(sides[0] if sides[1] == "eng" else sides[1])
    files = {match[1]: data for match, data in members(archive, r"dictd/.*\.(index|dict\.dz)$")}
    if lang is None or not files:
        return
    text = gzip.decompress(files["dict.dz"])
    for line in files["index"].decode().splitlines():
        word, place, size = line.split("\t")[:3]
        start = _number(place)
        entry = text[start : start + _number(size)].decode(errors="replace").splitlines()
        if word.startswith("00") or not entry:  # about the dictionary itself
            continue
        head = re.sub(r"\s*[/<\[(].*", "", entry[0]).strip()
        meanings = [_meaning(row) for row in entry[1:3]]
        pairs = [(head, row) if sides[0] == "eng" else (row, head) for row in meanings if 0 < len(row) <= 60]
        found = next((pair for pair in pairs if len(head) <= 60 and is_translation(*pair, 1)), None)
        if found:
            yield Translation(found[0], lang, found[1])


def _meaning(row: str) -> str:
    bare = re.sub(r"<[^<>]*>|\([^()]*\)|\[[^\]]*\]|^\s*\d+[.)]", "", row).replace("~", " ")
    return "" if '"' in bare else re.split("[,;:]", bare)[0].strip()


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = 64 * value + _DIGITS.index(digit)
    return value


def sources(archives: Path) -> Iterator[tuple[str, Iterable[Translation]]]:
    """Name and text of each source; those of a dictionary are named dictionary."""
    debian, npm = archives / "debian", archives / "npm"
    own = ("wesnoth", "iso-codes", "kgeography", "mediawiki", "wordpress")  # with files of their own, or not read
    programs = debian_names_with(r"^/usr/share/locale/th/LC_MESSAGES/.*\.mo$", _CATALOG_BYTES)
    programs = [name for name in programs if not name.startswith(own)]
    yield "catalogs", catalogs(fetch_debian(programs, debian), 3)
    yield (
        "wesnoth",
        catalogs(fetch_debian(debian_names(r"wesnoth-1\.16-(data|(?!core|tools|music)[a-z]{1,5})"), debian), 1),
    )
    yield "names", catalogs(fetch_debian(["iso-codes", "kgeography-data"], debian), 1)
    yield "mediawiki", mediawiki(fetch_debian(["mediawiki"], debian))
    unicode = [fetch_npm(f"cldr-{part}-full", "48.2.0", npm) for part in ("annotations", "annotations-derived")]
    yield "cldr", unicode_names(unicode, fetch_npm("cldr-localenames-full", "48.2.0", npm))
    yield "osm", places(fetch_npm("@openstreetmap/id-tagging-schema", "6.19.2", npm))
    for archive in fetch_debian(debian_names("dict-freedict-(eng-[a-z]+|[a-z]+-eng)"), debian):
        yield "dictionary", dictionary(archive)


class Collection:
    """What the sources have, English sentences once in each, with the first translation into each language."""

    def __init__(self, excluded: frozenset[int]) -> None:
        self._excluded = excluded
        self._groups: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))

    def add(self, name: str, rows: Iterable[Translation]) -> None:
        groups = self._groups[name]
        for english, lang, text in rows:
            long = len(english.split()) >= _FEWEST_EXCLUDED_WORDS
            if not (long and is_excluded((english, text), self._excluded)):
                groups[english].setdefault(lang, text)

    def write(self, folder: Path) -> Counter[str]:
        """A file of groups for each source, one of pairs for each language's dictionary; counts by language."""
        folder.mkdir(parents=True, exist_ok=True)
        counts = Counter(lang for groups in self._groups.values() for group in groups.values() for lang in group)
        kept = {lang for lang, count in counts.items() if count >= _FEWEST_PAIRS}
        for name, groups in self._groups.items():
            rows = [(english, {k: v for k, v in group.items() if k in kept}) for english, group in groups.items()]
            if name == "dictionary":
                _write_pairs(folder, rows)
            else:
                lines = (json.dumps({"en": english} | group, ensure_ascii=False) for english, group in rows if group)
                _write(folder / f"{name}.jsonl.xz", lines)
        return Counter({lang: counts[lang] for lang in kept})


def _write_pairs(folder: Path, rows: Iterable[tuple[str, dict[str, str]]]) -> None:
    pairs: dict[str, list[str]] = defaultdict(list)
    for english, group in rows:
        for lang, text in group.items():
            pairs[lang].append(f"{text}\t{english}")
    for lang, lines in pairs.items():
        random.Random(0).shuffle(lines)
        _write(folder / f"dictionary.{lang}-en.tsv.xz", lines[:_MOST_OF_A_DICTIONARY])


def _write(path: Path, lines: Iterable[str]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", preset=3) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--archives", type=Path, default=Path("runs/package-archives"))
    parser.add_argument("--without", nargs="*", default=[], help="Files of sentences to leave out, globs.")
    options = parser.parse_args()
    collection = Collection(read_exclusions([path for glob in options.without for path in matching(glob)]))
    for name, rows in sources(options.archives):
        collection.add(name, rows)
    counts = collection.write(options.out)
    print(f"{counts.total():,} pairs with English in {len(counts)} languages")


if __name__ == "__main__":
    main()
