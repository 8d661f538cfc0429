"""Samples of bitext to learn from: even over the files that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from encoder.data.corpora import DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from encoder.languages import canonical
from mining.errors import InputError
from mining.scoring.tasks import Bitext

FEWEST_PAIRS = 400
LanguagePair = tuple[str, str]
Texts = tuple[str, str]


class Reservoir:
    """A random sample of at most `size` of all that is offered."""

    def __init__(self, size: int) -> None:
        self.size, self.seen = size, 0
        self.pairs: list[Texts] = []

    def offer(self, pair: Texts, rng: np.random.Generator) -> None:
        self.seen += 1
        if len(self.pairs) < self.size:
            self.pairs.append(pair)
        elif (place := int(rng.integers(self.seen))) < self.size:
            self.pairs[place] = pair


class BitextSample(NamedTuple):
    """Bitext of two languages: of all files together, and of one of them, where rivals are harder to tell."""

    mixed: Bitext
    single: Bitext

    @property
    def name(self) -> str:
        return f"{self.mixed.src_lang}-{self.mixed.tgt_lang}"


def sample_bitexts(
    data: DataSettings,
    wanted: Sequence[str] | None,
    size: int,
    rng: np.random.Generator,
    fewest: int | None = None,
) -> list[BitextSample]:
    """At most `size` pairs of each wanted pair of languages, such as `de-en`; of every language with English if None.

    A pair of languages with less than `fewest` (default: `FEWEST_PAIRS`) is left out where nobody asked for it.
    """
    fewest = FEWEST_PAIRS if fewest is None else fewest
    named = [_language_pair(name) for name in wanted] if wanted is not None else None
    pools: dict[LanguagePair, dict[str, Reservoir]] = {pair: {} for pair in named or ()}
    present: dict[tuple[str, ...], list[LanguagePair]] = {}  # by languages of a group: there are few combinations
    for file in find_files(data):
        for group in read_groups(file):
            if not isinstance(group, Group):
                continue
            if group.langs not in present:
                present[group.langs] = _pairs_of(group.langs, named)
            for langs in present[group.langs]:
                texts = group.texts[group.langs.index(langs[0])], group.texts[group.langs.index(langs[1])]
                pool = pools.setdefault(langs, {}).setdefault(file.name, Reservoir(size))
                pool.offer(texts, rng)
    samples = []
    for langs, files in sorted(pools.items()):
        reservoirs = list(files.values())
        mixed = _even(langs, reservoirs, size, rng)
        if len(mixed) >= fewest:
            samples.append(BitextSample(mixed, _single(langs, reservoirs, rng)))
        elif named is not None:
            name = "-".join(langs)
            raise InputError(f"{name}: {len(mixed)} pairs in the data, but {fewest} of them are needed")
    if not samples:
        raise InputError(f"no language has {fewest} pairs with English in the data to learn from")
    return samples


def _language_pair(name: str) -> LanguagePair:
    source, dash, target = name.partition("-")
    if not dash or not source or not target:
        raise InputError(f"language pair {name!r}: write both languages, such as de-en")
    return canonical(source), canonical(target)


def _pairs_of(langs: tuple[str, ...], named: Sequence[LanguagePair] | None) -> list[LanguagePair]:
    """The wanted pairs of languages in a group of translations."""
    if named is not None:
        return [pair for pair in named if pair[0] in langs and pair[1] in langs]
    return [(lang, "en") for lang in langs if lang != "en"] if "en" in langs else []


def _even(langs: LanguagePair, files: list[Reservoir], size: int, rng: np.random.Generator) -> Bitext:
    """Pairs of all files in turn, until there are enough: no file crowds out the others."""
    shuffled = [[pool.pairs[i] for i in rng.permutation(len(pool.pairs)).tolist()] for pool in files]
    chosen: dict[Texts, None] = {}
    for turn in range(max(map(len, shuffled), default=0)):
        for pool in shuffled:
            if turn < len(pool) and len(chosen) < size:
                chosen.setdefault(pool[turn])
    return _bitext(langs, list(chosen), rng)


def _single(langs: LanguagePair, files: list[Reservoir], rng: np.random.Generator) -> Bitext:
    """One of the files that have the most: any whose sample is at least half as large as the largest."""
    most = max(len(pool.pairs) for pool in files)
    large = [pool for pool in files if 2 * len(pool.pairs) >= most]
    return _bitext(langs, list(dict.fromkeys(large[int(rng.integers(len(large)))].pairs)), rng)


def _bitext(langs: LanguagePair, pairs: list[Texts], rng: np.random.Generator) -> Bitext:
    order = rng.permutation(len(pairs)).tolist()
    return Bitext(*langs, [pairs[i][0] for i in order], [pairs[i][1] for i in order])
