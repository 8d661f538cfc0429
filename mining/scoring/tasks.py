"""Training tasks for the pair classifier: small mining and cleaning tasks whose answers are known, out of bitext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.neighbours import KnnGraph
from mining.retrieval import Edges, candidates
from mining.scoring.noise import Noise, NoiseMaker
from mining.top_k import MISSING

NEAR = 0.95  # a neighbour this near, of a translation's similarity, may be a translation nobody labelled
_NOISES = (
    (Noise.truncated, 0.15),
    (Noise.omission, 0.15),
    (Noise.swapped, 0.2),
    (Noise.number, 0.1),
    (Noise.name, 0.1),
    (Noise.salad, 0.03),
)
_NEIGHBOUR, _RANDOM, _COPIED = 0.2, 0.04, 0.03
_UNRELATED = ("random", "copied", Noise.salad)


@dataclass(frozen=True)
class Bitext:
    """Aligned sentences of two languages."""

    src_lang: str
    tgt_lang: str
    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Bitext:
        chosen = [int(row) for row in rows]
        return replace(self, source=[self.source[i] for i in chosen], target=[self.target[i] for i in chosen])


class MiningTask(NamedTuple):
    """Two corpora, and which group of translations each of their sentences belongs to."""

    source: list[str]
    target: list[str]
    source_groups: NDArray[np.int64]
    target_groups: NDArray[np.int64]


class CleaningTask(NamedTuple):
    """Given pairs, and which of them are right."""

    source: list[str]
    target: list[str]
    right: NDArray[np.bool_]
    kinds: list[str]  # of noise; "right" where there is none


def mining_task(bitext: Bitext, shared: float, rng: np.random.Generator) -> MiningTask:
    """Unaligned text: a share of the pairs keeps both sides, of the others one side each is left."""
    groups = _groups(bitext)
    chance = rng.random(len(bitext))
    lonely = (1 - shared) / 2
    sources, targets = chance < shared + lonely, (chance < shared) | (chance >= shared + lonely)
    sides = []
    for texts, kept in ((bitext.source, sources), (bitext.target, targets)):
        first = {texts[row]: row for row in np.flatnonzero(kept)[::-1].tolist()}  # each sentence once
        rows = rng.permutation(np.array(sorted(first.values()), np.int64))
        sides.append(([texts[row] for row in rows.tolist()], groups[rows]))
    return MiningTask(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def label_candidates(task: MiningTask, graph: KnnGraph) -> tuple[Edges, NDArray[np.bool_], NDArray[np.bool_]]:
    """The candidate edges, which are translations, and which may be used for training.

    A wrong edge nearly as similar as the translation of one of its ends (above `NEAR` of it) is left out: it may be a
    translation that nobody labelled.
    """
    edges = candidates(graph)
    right = task.source_groups[edges.source] == task.target_groups[edges.target]
    best_source = np.full(len(task.source), np.inf)
    best_target = np.full(len(task.target), np.inf)
    best_source[edges.source[right]] = edges.cosines[right]
    best_target[edges.target[right]] = edges.cosines[right]
    bound = np.minimum(best_source[edges.source], best_target[edges.target])
    return edges, right, right | (edges.cosines <= NEAR * bound)


def cleaning_task(bitext: Bitext, noisy: float, graph: KnnGraph | None, rng: np.random.Generator) -> CleaningTask:
    """Given pairs, a share of them with a noisy text; `graph` is that of the clean bitext, for misalignments."""
    names = [*(kind for kind, _ in _NOISES), "neighbour", "random", "copied"]
    chances = np.array([*(chance for _, chance in _NOISES), 0.0 if graph is None else _NEIGHBOUR, _RANDOM, _COPIED])
    seeds = rng.integers(1 << 31, size=2).tolist()
    makers = NoiseMaker(bitext.source, seeds[0]), NoiseMaker(bitext.target, seeds[1])
    source, target = list(bitext.source), list(bitext.target)
    groups = _groups(bitext)
    right, kinds = np.ones(len(bitext), bool), ["right"] * len(bitext)
    for row in np.flatnonzero(rng.random(len(bitext)) < noisy).tolist():
        kind = str(rng.choice(names, p=chances / chances.sum()))
        flipped = rng.random() < 0.5
        side = (source, target)[not flipped]
        changed: str | None
        if kind == "neighbour" and graph is not None:
            other = _neighbour(graph, row, groups)
            changed = None if other is None else (bitext.target[other] if not flipped else bitext.source[other])
        elif kind == "random":
            other = int(rng.integers(len(bitext)))
            changed = None if groups[other] == groups[row] else (bitext.target if not flipped else bitext.source)[other]
        elif kind == "copied":
            changed = (bitext.source if not flipped else bitext.target)[row]
        else:
            changed = makers[not flipped].make(side[row], Noise(kind))
        if changed is not None and changed != side[row]:
            side[row], right[row], kinds[row] = changed, False, kind
    return CleaningTask(source, target, right, kinds)


def component_of(kind: str) -> int:
    """Kinds of noise whose scores are similar have one number: translations with a flaw, near sentences, others."""
    if kind == "right":
        return 0
    return 3 if kind in _UNRELATED else 2 if kind == "neighbour" else 1


def _neighbour(graph: KnnGraph, row: int, groups: NDArray[np.int64]) -> int | None:
    """The nearest wrong target of a source that is not suspiciously near."""
    ids, scores = graph.forward.ids[row], graph.forward.scores[row]
    own = scores[ids == row]
    bound = NEAR * float(own[0]) if len(own) else np.inf
    for other, score in zip(ids.tolist(), scores.tolist(), strict=True):
        if other != MISSING and groups[other] != groups[row] and score <= bound:
            return int(other)
    return None


def _groups(bitext: Bitext) -> NDArray[np.int64]:
    """Pairs with an equal side are one group: their other sides translate each other's."""
    parent = list(range(len(bitext)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = item = parent[parent[item]]
        return item

    for texts in (bitext.source, bitext.target):
        first: dict[str, int] = {}
        for row, text in enumerate(texts):
            other = first.setdefault(" ".join(text.lower().split()), row)
            parent[root(row)] = root(other)
    return np.array([root(row) for row in range(len(bitext))], np.int64)
