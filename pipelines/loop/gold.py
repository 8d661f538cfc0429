"""How right selected pairs are, where the true pairs of two files are known."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from encoder.normalise import normalise
from mining.errors import InputError
from mining.files import iterate_lines
from pipelines.loop.settings import GoldSettings
from pipelines.loop.state import GoldCheck
from pipelines.parts import CLEANING


class _Gold(NamedTuple):
    sources: frozenset[str]
    targets: frozenset[str]
    pairs: frozenset[tuple[str, str]]


def check_gold(settings: GoldSettings, pairs: pa.Table) -> GoldCheck:
    """Compare the pairs whose sentences are both in the two files; by text, as a sentence may be in other files too."""
    gold = _read(settings)
    mined = [
        pair
        for pair in zip(pairs["src_text"].to_pylist(), pairs["tgt_text"].to_pylist(), strict=True)
        if pair[0] in gold.sources and pair[1] in gold.targets
    ]
    correct = sum(pair in gold.pairs for pair in mined)
    name = f"{settings.pair} {PurePosixPath(settings.gold).parent.name}"
    return GoldCheck(name=name, mined=len(mined), correct=correct, gold=len(gold.pairs))


def _read(settings: GoldSettings) -> _Gold:
    source, target = _sentences(settings.source), _sentences(settings.target)
    pairs = set()
    for number, line in enumerate(iterate_lines(settings.gold), 1):
        ids = line.split("\t")
        if len(ids) != 2 or ids[0] not in source or ids[1] not in target:
            raise InputError(f"{settings.gold}, line {number}: not two ids of {settings.source} and {settings.target}")
        pairs.add((source[ids[0]], target[ids[1]]))
    return _Gold(frozenset(source.values()), frozenset(target.values()), frozenset(pairs))


def _sentences(path: str) -> dict[str, str]:
    """By id, in the normal form of prepared sentences."""
    rows = [line.partition("\t") for line in iterate_lines(path)]
    texts = normalise([text for _, _, text in rows], CLEANING)
    return {row[0]: text for row, text in zip(rows, texts, strict=True)}
