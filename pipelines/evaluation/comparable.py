"""Comparable corpora in the form of BUCC: `id TAB sentence` on two sides, and gold pairs of ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts, plain

# A published split is `de-en.training.de` with its folder `de-en/` or without; ours are `de-en/de-en.de`.
# XTREME renames them: its test is BUCC's training, its dev BUCC's sample.
SPLITS = {"training": ".training", "test": ".test", "sample": ".sample", "dev": ".dev", "only": ""}


@dataclass(frozen=True)
class Comparable:
    """Two corpora and the rows of their gold pairs."""

    pair: str  # de-en
    split: str
    source: Texts
    target: Texts
    source_ids: list[str]
    target_ids: list[str]
    gold: np.ndarray  # (pairs, 2) int64 rows


def find_pairs(data: DataFolder, or_else: str = "") -> list[str]:
    """The language pairs of which some split is there; `or_else` tells in the error what else would do."""
    names = {plain(name).split("/")[-1] for pattern in ("*", "*/*") for name in data.matching(pattern)}
    found = sorted({match[1] for name in names if (match := re.match(r"([a-z]{2,3}-[a-z]{2,3})\.", name))})
    pairs = [pair for pair in found if any(has_split(data, pair, split) for split in SPLITS)]
    if not pairs:
        raise InputError(
            f"{data.root}: no corpora in the form of BUCC; needed are, for example, de-en.test.de, de-en.test.en and "
            f"de-en.test.gold, or de-en.de, de-en.en and de-en.gold, perhaps in a folder de-en{or_else}"
        )
    return pairs


def wanted_pairs(data: DataFolder, wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    """Those that are wanted, or all of `there`; one that is not there is an error."""
    for pair in wanted:
        if pair not in there:
            raise InputError(f"{data.root}: no corpora of {pair}; there are {', '.join(there)}")
    return list(wanted or there)


def has_split(data: DataFolder, pair: str, split: str) -> bool:
    """Whether both sides and the gold of a split are there (BUCC never published the gold of its test)."""
    source, target = pair.split("-")
    return all(_file(data, pair, split, ending) for ending in (source, target, "gold"))


def read_comparable(data: DataFolder, pair: str, split: str) -> Comparable:
    """Both sides and the gold; gold ids that are not in the corpora are an error."""
    source_lang, target_lang = pair.split("-")
    source_ids, source = _side(data, pair, split, source_lang)
    target_ids, target = _side(data, pair, split, target_lang)
    name = _require(data, pair, split, "gold")
    gold = [(row[0].strip(), row[1].strip()) for _, row in data.rows(name, 2, "a gold line is two ids")]
    if not gold:
        raise InputError(f"{data.root / name}: there are no gold pairs")
    source_rows, target_rows = ({id_: row for row, id_ in enumerate(ids)} for ids in (source_ids, target_ids))
    missing = [a for a, _ in gold if a not in source_rows] + [b for _, b in gold if b not in target_rows]
    if missing:
        raise InputError(
            f"{data.root / name}: {len(missing):,} gold ids are not in the corpora, first {', '.join(missing[:5])}; "
            "the gold belongs to other files, or its columns are the other way round"
        )
    rows = np.array([(source_rows[a], target_rows[b]) for a, b in gold], np.int64)
    return Comparable(pair, split, source, target, source_ids, target_ids, np.unique(rows, axis=0))


def _side(data: DataFolder, pair: str, split: str, lang: str) -> tuple[list[str], Texts]:
    name = _require(data, pair, split, lang)
    ids, lines = [], []
    for _, fields in data.rows(name, 2, "a line is `id TAB sentence`"):
        ids.append(fields[0])
        lines.append("\t".join(fields[1:]))
    if not ids:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to mine in {lang}")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        number, repeated = next((n, i) for n, i in enumerate(ids, 1) if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InputError(f"{data.root / name}, line {number}: the id {repeated} was there before; ids must differ")
    return ids, Texts(data.named(name), lines, lang)


def _file(data: DataFolder, pair: str, split: str, ending: str) -> str | None:
    name = f"{pair}{SPLITS[split]}.{ending}"
    return data.find(f"{pair}/{name}") or data.find(name)


def _require(data: DataFolder, pair: str, split: str, ending: str) -> str:
    found = _file(data, pair, split, ending)
    if found is None:
        raise InputError(f"{data.root}: {pair}{SPLITS[split]}.{ending} is missing")
    return plain(found)
