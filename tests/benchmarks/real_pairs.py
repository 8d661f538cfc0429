"""Real sentence pairs with English for benchmarks: ../shared/data/train, and what else `MORE_TEXT` names.

`MORE_TEXT='runs/package-text/*.jsonl.xz'` adds groups of translations in the form of `train/nway`, such as those of
`package_text`.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


class MiningText(NamedTuple):
    """Real text for two sides of a mine, drawn evenly from all there is."""

    pairs: list[Pair]
    english: list[str]  # without a translation among the others
    others: list[Pair]  # their English is on neither side


def mining_text() -> MiningText:
    """All pairs, shuffled, but for a tenth of them, whose translations into all languages are of one side only."""
    found = english_pairs(sys.maxsize)
    order = np.random.default_rng(0).permutation(len(found))
    pairs, apart = ([found[row] for row in rows] for rows in np.split(order, [len(order) * 9 // 10]))
    of_others = {pair.english for pair in apart}
    seen = {text for pair in found for text in (pair.english, pair.other)}
    english = [text for text in _comparable_english() if text not in seen]
    others = list(apart)
    for path in _group_files():
        for pair in _of_groups(path, all_languages=True):
            if pair.english in of_others and pair.other not in seen:
                seen.add(pair.other)
                others.append(pair)
    return MiningText(pairs, list(dict.fromkeys(english)), others)


def _comparable_english() -> Iterator[str]:
    """Sentences of ../shared/data/mono."""
    for path in sorted(DATA.parent.glob("mono/*.en.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n").split("\t")[-1]


def _column_files() -> list[Path]:
    return sorted({*DATA.glob("*/en-*.tsv.xz"), *DATA.glob("*/*-en.tsv.xz")})


def _group_files() -> list[Path]:
    more = os.environ.get("MORE_TEXT")
    return [*sorted(DATA.glob("nway/*.jsonl.xz")), *(map(Path, matching(more)) if more else ())]


def _of_columns(path: Path) -> Iterator[Pair]:
    langs = path.name.split(".")[0].split("-")
    of_english = langs.index("en")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            texts = line.rstrip("\n").split("\t")
            yield Pair(texts[of_english], texts[1 - of_english], langs[1 - of_english])


def _of_groups(path: Path, *, all_languages: bool = False) -> Iterator[Pair]:
    """Each English sentence once, with a translation in one language after the other, or with all of them."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            group = json.loads(line)
            langs = sorted(group.keys() - {"en"})
            if "en" in group and langs:
                for lang in langs if all_languages else [langs[number % len(langs)]]:
                    yield Pair(" ".join(group["en"].split()), " ".join(group[lang].split()), lang)
