"""Hubs: sentences that are among the neighbours of far too many others (Radovanovic et al. 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.neighbours import read_neighbours
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import read_shard
from pipelines.evaluation.measures import Hubness, hubness, k_occurrence
from pipelines.mine.work_folder import FinishedMine, MinedSide

FACTOR = 10.0  # a hub is in more than this many times k neighbourhoods
_LISTED = 8


class Hub(NamedTuple):
    """A sentence, and how many sentences of the other side have it among their k nearest."""

    text: str
    times: int


class SideHubs(NamedTuple):
    """The hubs of one side, how uneven it is, and how many sentences occur 0, 1, 2-3, 4-7, ... times."""

    side: str
    k: int
    hubness: Hubness
    listed: list[Hub]
    occurrences: list[tuple[str, int]]


def find_hubs(mine: FinishedMine) -> list[SideHubs]:
    """Of both sides; a side whose sentences are gone is left out."""
    if mine.graph is None:
        return []
    found = []
    # The neighbours of source sentences are target sentences.
    for name, direction, side in (("source", "backward", mine.source), ("target", "forward", mine.target)):
        if side.sentences is not None:
            found.append(_hubs(name, mine.graph, direction, side))
    return found


def _hubs(name: str, graph: Dataset, direction: str, side: MinedSide) -> SideHubs:
    assert side.sentences is not None
    total = np.zeros(side.sentences.rows, np.int64)
    k = 1
    for shard in graph.shards_of(direction):
        _, neighbours, _ = read_neighbours(graph.shard_url(shard))
        k = neighbours.ids.shape[1]
        total += k_occurrence(neighbours.ids, len(total))[: len(total)]  # probes stand behind the corpus
    best = np.argsort(-total, kind="stable")[:_LISTED]
    texts = _texts(side.sentences, best)
    listed = [Hub(text, int(total[row])) for text, row in zip(texts, best.tolist(), strict=True)]
    return SideHubs(name, k, hubness(total, k, FACTOR), listed, _occurrences(total))


def _occurrences(total: np.ndarray) -> list[tuple[str, int]]:
    """Counts in bins that double: 0, 1, 2-3, 4-7 and so on."""
    powers = np.where(total > 0, np.log2(np.maximum(total, 1)).astype(np.int64) + 1, 0)
    labels = ["0", "1", *(f"{1 << n}–{(2 << n) - 1}" for n in range(1, 60))]
    return [(labels[place], int(count)) for place, count in enumerate(np.bincount(powers))]


def _texts(sentences: Dataset, ids: np.ndarray) -> list[str]:
    """The sentences of these ids, from the shards that hold them only."""
    found: dict[int, str] = {}
    first = 0
    for shard in sentences.shards:
        inside = ids[(ids >= first) & (ids < first + shard.rows)]
        if len(inside):
            texts = read_shard(sentences.shard_url(shard), ["text"])["text"]
            found |= {row: texts[row - first].as_py() for row in inside.tolist()}
        first += shard.rows
    return [found[row] for row in ids.tolist()]
