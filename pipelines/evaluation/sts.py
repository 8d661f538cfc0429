"""Semantic textual similarity: correlation of the cosine with human judgement, averaged in both conventions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.measures import cosines, pearson, spearman
from pipelines.evaluation.samples import TestItems
from pipelines.evaluation.sources import VectorSource
from pipelines.evaluation.sts_files import StsSet, read_sets

DATASETS = {
    "STS12": "MSRpar MSRvid SMTeuroparl OnWN SMTnews",
    "STS13": "FNWN OnWN headlines SMT",
    "STS14": "OnWN deft-forum deft-news headlines images tweet-news",
    "STS15": "answers-forums answers-students belief headlines images",
    "STS16": "answer-answer headlines plagiarism postediting question-question",
}
# VMSST Table 10. Its Spanish-English is near 77, so it is track 4a: on 4b (translation quality) everybody is far below.
SAME_LANGUAGE = ("track1.ar-ar", "track3.es-es")
CROSS_LANGUAGE = ("track2.ar-en", "track4a.es-en", "track6.tr-en")
# What MTEB averages, and so MPCL: SemEval's tracks without 4b, and what sentence-transformers added.
MTEB_STS17 = ("ar-ar", "ar-en", "de-en", "en-en", "en-es", "en-fr", "en-it", "en-nl", "en-tr", "es-es", "ko-ko")
_Group = tuple[str, tuple[str, ...]]  # label and datasets
UNSTABLE = {"fr-pl", "pl-fr"}  # MPCL leaves it out of its STS22 average


class Sts(Benchmark):
    """All known STS files below a folder. With `seen`, also means of pairs of these languages and of others."""

    benchmark: Literal["sts"] = "sts"
    short_gold: bool = Field(False, description="Take the first lines where the gold has fewer (STS17 tr-en).")

    seen: tuple[str, ...] = Field((), description="Languages that the encoder was trained on (MPCL Table 7).")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        sets = read_sets(data, self.short_gold)
        items = [_items(source, found) for found in sets]
        scores = [
            _score(found.name, metric, pairs)
            for found, pairs in zip(sets, items, strict=True)
            for metric in ("Pearson", "Spearman")
        ]
        choices = [
            Choice("similarity", "cosine"),
            Choice("Pearson of a year", "mean of its datasets (Wieting et al. 2016)"),
            Choice("Spearman of a year", "of its datasets joined, without SMT of 2013 (Reimers and Gurevych 2019)"),
            Choice("pairs without gold, or without an article in STS22", "left out"),
            Choice("pairs", ", ".join(f"{group} {count:,}" for group, count in _pairs_of_groups(sets).items())),
            Choice("datasets of 2012-16 not there", ", ".join(missing(sets)) or "none"),
        ]
        return Outcome(scores + _averages(sets, items, scores, self.seen), choices)


def _pairs_of_groups(sets: Sequence[StsSet]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for found in sets:
        counts[found.group] += len(found.gold)
    return counts


def missing(sets: Sequence[StsSet]) -> list[str]:
    """The datasets without which a year that is there is not what the papers report."""
    there = {found.group for found in sets}
    names = {(found.group, found.name.rsplit(" ", 1)[-1].removeprefix("surprise.")) for found in sets}
    return [
        f"20{year[3:]} {name}"
        for year, members in DATASETS.items()
        if year in there
        for name in members.split()
        if (year, name) not in names
    ]


def correlation_percent(kind: str) -> Callable[[NDArray], float]:
    """100 times a correlation of the two columns (cosine, gold)."""
    correlate = pearson if kind == "Pearson" else spearman
    return lambda items: 100 * correlate(items[:, 0], items[:, 1])


def _items(source: VectorSource, found: StsSet) -> np.ndarray:
    return np.stack([cosines(source.vectors(found.first), source.vectors(found.second)), found.gold], axis=1)


def _score(name: str, metric: str, items: np.ndarray) -> Score:
    sample = TestItems(items, correlation_percent(metric))
    return Score(name, metric, sample.value(), sample)


def _averages(
    sets: Sequence[StsSet], items: Sequence[np.ndarray], scores: Sequence[Score], seen: Sequence[str]
) -> list[Score]:
    by_name = {(score.dataset, score.metric): score for score in scores}
    pearsons, spearmans = [], []
    for year in DATASETS:
        members = [(found, pairs) for found, pairs in zip(sets, items, strict=True) if found.group == year]
        if not members:
            continue
        pearsons.append(averaged(year, [by_name[found.name, "Pearson"] for found, _ in members]))
        if joined := [pairs for found, pairs in members if not found.name.endswith("SMT")]:
            spearmans.append(_score(f"{year} joined", "Spearman", np.concatenate(joined)))
    found = [*pearsons, *spearmans]
    for group in (pearsons, spearmans):
        if len(group) == len(DATASETS):
            found.append(averaged("STS12-16", group, headline=True))
    for label, names in (
        ("STS17 cross-lingual", SAME_LANGUAGE + CROSS_LANGUAGE),
        ("STS17 same language", SAME_LANGUAGE),
        ("STS17 two languages", CROSS_LANGUAGE),
        *_group_names(sets),
        *_mteb_sts17(sets),
        *(_seen_and_unseen([*_group_names(sets), *_mteb_sts17(sets)], seen) if seen else ()),
    ):
        found += _mean(label, names, by_name)
    return found


def _group_names(sets: Sequence[StsSet]) -> list[_Group]:
    groups: dict[str, tuple[str, ...]] = {}
    for found in sets:
        if found.group in ("STS-B", "STS-B multilingual", "SICK", "STS22"):
            groups[found.group] = (*groups.get(found.group, ()), found.name)
    stable = tuple(name for name in groups.get("STS22", ()) if name not in UNSTABLE)
    if stable and stable != groups["STS22"]:
        groups["STS22 without fr-pl"] = stable
    return list(groups.items())


def _mteb_sts17(sets: Sequence[StsSet]) -> list[_Group]:
    """The eleven pairs, whichever files they come from, if all are there."""
    found: dict[str, str] = {}
    for one in sets:
        if one.group == "STS17" and "track4b" not in one.name:
            found["-".join(sorted(one.name.rsplit(".", 1)[-1].split("-")))] = one.name
    names = tuple(found[pair] for pair in MTEB_STS17 if pair in found)
    return [("STS17 11 pairs (MTEB)", names)] if len(names) == len(MTEB_STS17) else []


def _seen_and_unseen(groups: Sequence[_Group], seen: Sequence[str]) -> list[_Group]:
    """Of groups of language pairs, those whose languages are all `seen`, and the others."""
    parts: list[_Group] = []
    for label, names in groups:
        if label.startswith(("STS17", "STS22")):
            known = tuple(name for name in names if set(name.rsplit(".", 1)[-1].split("-")) <= set(seen))
            others = tuple(name for name in names if name not in known)
            parts += [(f"{label}, {len(known)} seen", known), (f"{label}, {len(others)} unseen", others)]
    return [(label, names) for label, names in parts if names]


def _mean(label: str, names: Sequence[str], by_name: dict[tuple[str, str], Score]) -> list[Score]:
    metrics = ("Pearson", "Spearman")
    if not all((name, metric) in by_name for name in names for metric in metrics):
        return []
    return [averaged(label, [by_name[name, metric] for name in names], headline=True) for metric in metrics]
