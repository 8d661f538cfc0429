"""How right selected pairs are, where the true pairs of some files are known."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from encoder.normalize import normalize
from mining.errors import InputError
from mining.files import iterate_lines
from pipelines.loop.loop_settings import GoldSettings
from pipelines.loop.records import GoldCheck
from pipelines.prepare.parts import CLEANING

TextPair = tuple[str, str]


def check_gold(settings: Sequence[GoldSettings], pairs: pa.Table) -> GoldCheck | None:
    """Judge the pairs of one language pair whose sentences are both in some of the files.

    By text, as a sentence of one file may be in others too. A pair across files is wrong unless some gold has it.
    """
    if not settings:
        return None
    sources: set[str] = set()
    targets: set[str] = set()
    gold: set[TextPair] = set()
    for files in settings:
        source, target = _sentences(files.source), _sentences(files.target)
        sources.update(source.values())
        targets.update(target.values())
        gold.update(_gold(files, source, target))
    found = zip(pairs["src_text"].to_pylist(), pairs["tgt_text"].to_pylist(), strict=True)
    mined = [pair for pair in found if pair[0] in sources and pair[1] in targets]
    return GoldCheck(mined=len(mined), correct=sum(pair in gold for pair in mined), gold=len(gold))


def _gold(files: GoldSettings, source: dict[str, str], target: dict[str, str]) -> set[TextPair]:
    pairs = set()
    for number, line in enumerate(iterate_lines(files.gold), 1):
        ids = line.split("\t")
        if len(ids) != 2 or ids[0] not in source or ids[1] not in target:
            raise InputError(f"{files.gold}, line {number}: not two ids of {files.source} and {files.target}")
        pairs.add((source[ids[0]], target[ids[1]]))
    return pairs


def _sentences(path: str) -> dict[str, str]:
    """By id, in the normal form of prepared sentences."""
    rows = [line.partition("\t") for line in iterate_lines(path)]
    texts = normalize([text for _, _, text in rows], CLEANING)
    return {row[0]: text for row, text in zip(rows, texts, strict=True)}
