"""A graph in memory, for oracles."""

from __future__ import annotations

from collections.abc import Sequence

from mining.neighbours import KnnGraph, Neighbours
from pipelines.mine.edges import GraphShard, Sides


def whole_graph(sides: Sides) -> KnnGraph:
    return KnnGraph(_whole(sides.forward), _whole(sides.backward))


def _whole(shards: Sequence[GraphShard]) -> Neighbours:
    """One direction; rows that the graph leaves out have no neighbours."""
    whole: Neighbours | None = None
    for shard in shards:
        ids, part = shard.read()
        whole = whole or Neighbours.none(shards[-1].end, part.ids.shape[1])
        whole.ids[ids], whole.scores[ids] = part.ids, part.scores
    return whole or Neighbours.none(0, 1)
