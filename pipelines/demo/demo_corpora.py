"""The demo's corpora: seed bitext from some packages, two unaligned sides and their true alignment from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from mining.errors import InputError
from mining.files import atomic_text
from pipelines.demo.archived_catalogs import Pair
from pipelines.demo.messages import identity
from pipelines.runners.console_table import show_table

_SEED = 0


class DemoSide(NamedTuple):
    """What is to be mined for one language."""

    english: list[str]
    other: list[str]
    gold: list[Pair]


class DemoCorpora(NamedTuple):
    """The files of one language, and how much is in them."""

    language: str
    train: Path  # english TAB other
    probes: Path  # english TAB other, known pairs to calibrate the threshold with
    english: Path
    other: Path
    gold: Path  # english TAB other
    sentences: tuple[int, int]  # english, other
    pairs: int  # to train on
    true: int


def without_known(pairs: Iterable[Pair], english: set[str], other: set[str]) -> list[Pair]:
    """The pairs of which neither side is known, nor occurs in a pair before it; what is known grows with each."""
    kept = []
    for pair in pairs:
        keys = identity(pair.english), identity(pair.other)
        if keys[0] not in english and keys[1] not in other:
            kept.append(pair)
            english.add(keys[0])
            other.add(keys[1])
    return kept


def split(pairs: Sequence[Pair]) -> DemoSide:
    """A third of the pairs whole, of a third the English only, of a third the other only; each side shuffled.

    So half of the sentences on either side have no counterpart.
    """
    rng = np.random.default_rng(_SEED)
    order = rng.permutation(len(pairs)).tolist()
    third = len(pairs) // 3
    both, left, right = (order[part * third : (part + 1) * third] for part in range(3))
    english = [pairs[row].english for row in both + left]
    other = [pairs[row].other for row in both + right]
    for side in (english, other):
        rng.shuffle(side)
    return DemoSide(english, other, [pairs[row] for row in both])


def write_corpora(
    folder: Path, seed: dict[str, list[Pair]], unmined: dict[str, list[Pair]], probes: int
) -> list[DemoCorpora]:
    """The files of all languages; no sentence to be mined is in the seed of any language.

    The probes are of the packages to be mined: known pairs of other text say less about it (docs/results.md).
    """
    known_english = {identity(pair.english) for pairs in seed.values() for pair in pairs}
    written = []
    for language, known in seed.items():
        known_other = {identity(pair.other) for pair in known}
        new = without_known(unmined[language], set(known_english), known_other)
        shuffled = [new[row] for row in np.random.default_rng(_SEED).permutation(len(new))]
        side = split(shuffled[probes:])
        if not side.gold or not known:
            raise InputError(f"the catalogs hold too few sentences in {language} for a demo; leave the language out")
        written.append(_write(folder, language, known, shuffled[:probes], side))
    return written


def _write(folder: Path, language: str, train: list[Pair], probes: list[Pair], side: DemoSide) -> DemoCorpora:
    unaligned = folder / "mine" / f"en-{language}"
    corpora = DemoCorpora(
        language,
        train=folder / "seed" / f"en-{language}.tsv",
        probes=folder / "probes" / f"en-{language}.tsv",
        english=unaligned / "en.txt",
        other=unaligned / f"{language}.txt",
        gold=unaligned / "gold.tsv",
        sentences=(len(side.english), len(side.other)),
        pairs=len(train),
        true=len(side.gold),
    )
    for path, pairs in ((corpora.train, train), (corpora.probes, probes), (corpora.gold, side.gold)):
        write_text(path, "".join(f"{pair.english}\t{pair.other}\n" for pair in pairs))
    for path, lines in ((corpora.english, side.english), (corpora.other, side.other)):
        write_text(path, "".join(f"{line}\n" for line in lines))
    return corpora


def write_text(path: Path, text: str) -> None:
    """A file that has this text already stays untouched: datasets made from it know it by its date."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        with atomic_text(str(path)) as stream:
            stream.write(text)


def show_corpora(corpora: Sequence[DemoCorpora], console: Console) -> None:
    """How much there is of each language."""
    lines = [["", "known pairs", "English to mine", "other to mine", "true pairs"]]
    for language in corpora:
        counts = (language.pairs, *language.sentences, language.true)
        lines.append([f"en-{language.language}", *(f"{count:,}" for count in counts)])
    show_table(lines, console)
