"""Real sentence pairs with English for benchmarks: ../shared/data/train, and what else `MORE_TEXT` names.

`MORE_TEXT='runs/package-text/*.jsonl.xz'` adds groups of translations in the form of `train/nway`, such as those of
`package_text`.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mining.paths import matching

DATA = Path("../shared/data/train")


class Pair(NamedTuple):
    english: str
    other: str
    lang: str


def english_pairs(count: int) -> list[Pair]:
    """Different English sentences with one translation each, of all files in turn."""
    seen: set[str] = set()
    pairs: list[Pair] = []
    streams = [*map(_of_columns, _column_files()), *map(_of_groups, _group_files())]
    while streams and len(pairs) < count:
        for stream in list(streams):
            pair = next(stream, None)
            if pair is None:
                streams.remove(stream)
            elif pair.english not in seen and pair.other not in seen:
                seen |= {pair.english, pair.other}
                pairs.append(pair)
    return pairs[:count]


def _column_files() -> list[Path]:
    return [path for path in sorted(DATA.glob("*/en-*.tsv.xz")) if path.parent.name != "ddtp"]


def _group_files() -> list[Path]:
    more = os.environ.get("MORE_TEXT")
    return [*sorted(DATA.glob("nway/*.jsonl.xz")), *(map(Path, matching(more)) if more else ())]


def _of_columns(path: Path) -> Iterator[Pair]:
    lang = path.name.removeprefix("en-").split(".")[0]
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            english, other = line.rstrip("\n").split("\t")[:2]
            yield Pair(english, other, lang)


def _of_groups(path: Path) -> Iterator[Pair]:
    """Each English sentence once, with a translation in one language after the other."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            group = json.loads(line)
            langs = sorted(group.keys() - {"en"})
            if "en" in group and langs:
                lang = langs[number % len(langs)]
                yield Pair(" ".join(group["en"].split()), " ".join(group[lang].split()), lang)
