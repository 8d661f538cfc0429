"""Parallel sentences, whatever form they come in: n-way aligned files, comparable corpora with gold, or TSV."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mining.errors import InputError
from mining.files import iterate_lines
from pipelines.evaluation.benchmark_files import DataFolder, Texts, is_language, plain, require_aligned
from pipelines.evaluation.comparable import Comparable

_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")


class Queries(NamedTuple):
    """Sentences, the candidates among which their translations are, and the candidate that is right for each."""

    name: str
    queries: Texts
    candidates: Texts
    gold: np.ndarray  # (queries,) int64 rows of candidates


def read_nway(data: DataFolder, template: str, languages: tuple[str, ...] = ()) -> dict[str, Texts]:
    """Line-aligned files of several languages, `{lang}` in their name; without that, one TSV (XNLI's 15-way)."""
    if "{lang}" not in template:
        return _read_columns(data, template, languages)
    files = data.languages(template)
    for code in languages:
        if code not in files:
            raise InputError(f"{data.root}: no file like {template!r} for {code}; there are {', '.join(sorted(files))}")
    texts = {code: data.texts(plain(files[code]), code.split("_")[0]) for code in (languages or sorted(files))}
    first = next(iter(texts.values()))
    for other in texts.values():
        require_aligned(data.root, first, other)
    return texts


def _read_columns(data: DataFolder, name: str, languages: tuple[str, ...]) -> dict[str, Texts]:
    """A TSV of a language a column; its first line names them."""
    name = plain(name)
    header, *lines = data.lines(name) or [""]
    codes = header.removeprefix("\ufeff").split("\t")
    if len(set(codes)) < max(2, len(codes)) or not all(map(is_language, codes)):
        raise InputError(
            f"{data.root / name}, line 1: it must name two or more languages, such as `de TAB en`; or put {{lang}} "
            "where file names have the language"
        )
    if missing := [code for code in languages if code not in codes]:
        raise InputError(f"{data.root / name}: no column for {missing[0]}; there are {', '.join(codes)}")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 2):
        if len(row) != len(codes):
            raise InputError(f"{data.root / name}, line {number}: {len(row)} columns, but line 1 names {len(codes)}")
    if not rows:
        raise InputError(f"{data.root / name}: no sentences after line 1; there is nothing to evaluate")
    columns = dict(zip(codes, zip(*rows, strict=True), strict=True))
    return {
        code: Texts(f"{data.named(name)}.{code}", list(columns[code]), code.split("_")[0])
        for code in (languages or sorted(codes))
    }


def queries_of_gold(corpora: Comparable, most: int, seed: int) -> Queries:
    """The gold sources as queries, all of the other side as candidates; a source with two translations is left out."""
    sources, counts = np.unique(corpora.gold[:, 0], return_counts=True)
    gold = corpora.gold[np.isin(corpora.gold[:, 0], sources[counts == 1])]
    if len(gold) > most:
        gold = gold[np.sort(np.random.default_rng(seed).choice(len(gold), most, replace=False))]
    name = f"{corpora.source.name}.queries-{len(gold)}-seed-{seed}"
    return Queries(corpora.pair, corpora.source.take(gold[:, 0].tolist(), name), corpora.target, gold[:, 1])


def sampled_queries(path: Path, name: str, queries: int, candidates: int, seed: int) -> Queries:
    """Random distinct pairs of a parallel TSV called `xx-yy...`, the first of them being the queries."""
    stem = path.name.split(".")[0]
    source_lang, _, target_lang = stem.partition("-")
    if not target_lang:
        raise InputError(f"{path}: call it by its languages, such as de-en.tsv")
    pairs = reservoir(path, candidates, seed)
    kept = list({target: (source, target) for source, target in reversed(pairs)}.values())[::-1]
    if len(kept) < 2:
        raise InputError(f"{path}: {len(kept)} distinct pairs; retrieval needs two or more")
    base = f"{name}.sample-{candidates}-seed-{seed}"
    count = min(queries, len(kept))
    return Queries(
        stem,
        Texts(f"{base}.{source_lang}", [source for source, _ in kept[:count]], source_lang),
        Texts(f"{base}.{target_lang}", [target for _, target in kept], target_lang),
        np.arange(count),
    )


def reservoir(path: Path, size: int, seed: int) -> list[tuple[str, str]]:
    """A uniform sample in random order in one pass (Li's algorithm L): ParaCrawl files do not fit memory."""
    generator = np.random.default_rng(seed)
    kept: list[tuple[str, str]] = []
    weight, following = 1.0, -1
    for number, line in enumerate(iterate_lines(str(path))):
        if len(kept) >= size and number < following:
            continue
        source, tab, target = line.partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number + 1}: no tab; a line is `source TAB target`")
        pair = source, target.split("\t")[0]
        if len(kept) < size:
            kept.append(pair)
        else:
            kept[int(generator.integers(size))] = pair
        if len(kept) == size:
            weight *= generator.random() ** (1 / size)
            following = number + 1 + int(np.floor(np.log(generator.random()) / np.log1p(-weight)))
    if kept and all(_NUMBER.fullmatch(source) for source, _ in kept):
        raise InputError(
            f"{path}: the first column has numbers only, such as {kept[0][0]}; a line is `source TAB target`, "
            "so take the scores out, for example by `cut -f2,3`"
        )
    return [kept[i] for i in generator.permutation(len(kept))]
