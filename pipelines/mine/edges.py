"""Edges between sentences on their way to pairs: compact arrays, and the joins that neighbour lists need.

Every join goes shard by shard through small scratch files (eight bytes a sentence for means), so that no worker
holds more than one shard of each side, however large the corpora are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from mining.files import atomic_writer
from mining.margin import Margin
from mining.neighbours import KnnGraph, Neighbours, read_neighbours
from mining.paths import exists, open_url
from mining.retrieval import BACKWARD, FORWARD, Edges, scored_edges
from mining.top_k import MISSING
from pipelines.datasets.contents import check_file
from pipelines.datasets.work import Work

EDGE = np.dtype([("source", "<i8"), ("target", "<i8"), ("score", "<f4"), ("cosine", "<f4"), ("directions", "u1")])
Direction = Literal["forward", "backward"]
OTHER: dict[Direction, Direction] = {"forward": "backward", "backward": "forward"}
BIT: dict[Direction, int] = {"forward": FORWARD, "backward": BACKWARD}


class GraphShard(NamedTuple):
    """A file of the graph; its rows have ids from `first` to before `end`, some of which may be missing."""

    direction: Direction
    number: int
    url: str
    checksum: str
    first: int
    end: int

    def read(self) -> tuple[np.ndarray, Neighbours]:
        """The ids of its rows and their neighbours."""
        check_file(self.url, self.checksum)
        ids, neighbours, _ = read_neighbours(self.url)
        return ids.astype(np.int64), neighbours

    @property
    def name(self) -> str:
        return f"{self.direction}-{self.number:05d}.npy"


class Sides(NamedTuple):
    """The graph shards of both sides, each in order of ids."""

    forward: list[GraphShard]
    backward: list[GraphShard]

    def of(self, direction: Direction) -> list[GraphShard]:
        return self.forward if direction == "forward" else self.backward


def whole_graph(sides: Sides) -> KnnGraph:
    """Both directions in memory."""
    return KnnGraph(_whole(sides.forward), _whole(sides.backward))


def _whole(shards: Sequence[GraphShard]) -> Neighbours:
    """One direction; rows that the graph leaves out have no neighbours."""
    whole: Neighbours | None = None
    for shard in shards:
        ids, part = shard.read()
        whole = whole or Neighbours.none(shards[-1].end, part.ids.shape[1])
        whole.ids[ids], whole.scores[ids] = part.ids, part.scores
    return whole or Neighbours.none(0, 1)


def as_edges(found: Edges) -> np.ndarray:
    edges = np.zeros(len(found), EDGE)
    edges["source"], edges["target"], edges["score"] = found.source, found.target, found.scores
    edges["cosine"], edges["directions"] = found.cosines, found.directions
    return edges


def shard_of(ids: np.ndarray, shards: Sequence[GraphShard]) -> np.ndarray:
    """The number of the shard that holds each id."""
    return np.searchsorted(np.array([shard.end for shard in shards]), ids, side="right")


def write_means(work: Work, shard: GraphShard) -> GraphShard:
    """Mean cosine of the neighbours of each id of a shard, zero where the id is missing."""
    url = work.scratch("means", shard.name)
    if not exists(url):
        ids, neighbours = shard.read()
        means = np.zeros(shard.end - shard.first)
        means[ids - shard.first] = neighbours.means()
        write_array(url, means)
    return shard


def write_proposals(work: Work, shard: GraphShard, sides: Sides, margin: Margin) -> GraphShard:
    """The best edge of each row of a shard by margin, as `EDGE`s without directions."""
    url = work.scratch("proposals", shard.name)
    if exists(url):
        return shard
    ids, neighbours = shard.read()
    present = neighbours.ids != MISSING
    others = np.unique(neighbours.ids[present])  # in order, so that ties still go to the lowest id
    local = Neighbours(
        np.where(present, np.searchsorted(others, neighbours.ids), MISSING).astype(np.int64), neighbours.scores
    )
    other_means = lookup(others, sides.of(OTHER[shard.direction]), lambda s: read_array(work.scratch("means", s.name)))
    rows, places, scores, cosines = scored_edges(local, neighbours.means(), other_means, margin, best_only=True)
    own, other = ids[rows], others[places]
    edges = np.zeros(len(rows), EDGE)
    edges["source"], edges["target"] = (own, other) if shard.direction == "forward" else (other, own)
    edges["score"], edges["cosine"] = scores, cosines
    write_array(url, edges)
    return shard


def united(work: Work, shard: GraphShard, sides: Sides) -> np.ndarray:
    """The proposals of a shard with the bit of the other direction where that end proposes the same edge."""
    edges = read_array(work.scratch("proposals", shard.name))
    own, other = ("source", "target") if shard.direction == "forward" else ("target", "source")

    def choices(counterpart: GraphShard) -> np.ndarray:
        proposals = read_array(work.scratch("proposals", counterpart.name))
        chosen = np.full(counterpart.end - counterpart.first, MISSING, np.int64)
        chosen[proposals[other] - counterpart.first] = proposals[own]
        return chosen

    mutual = lookup(edges[other], sides.of(OTHER[shard.direction]), choices) == edges[own]
    edges["directions"] = BIT[shard.direction] | np.where(mutual, BIT[OTHER[shard.direction]], 0)
    return edges


def lookup(ids: np.ndarray, shards: Sequence[GraphShard], values: Callable[[GraphShard], np.ndarray]) -> np.ndarray:
    """The value of each id, from arrays that hold one shard each; one array is in memory at a time."""
    numbers = shard_of(ids, shards)
    found: np.ndarray | None = None
    for number in np.unique(numbers).tolist():
        part = values(shards[number])
        found = np.zeros(len(ids), part.dtype) if found is None else found
        chosen = numbers == number
        found[chosen] = part[ids[chosen] - shards[number].first]
    return np.zeros(len(ids)) if found is None else found


def best_first(edges: np.ndarray) -> np.ndarray:
    """By score, ties by lowest source and then target: the order of the pairs, and of greedy matching."""
    return edges[np.lexsort((edges["target"], edges["source"], -edges["score"]))]


def write_array(url: str, array: np.ndarray) -> None:
    with atomic_writer(url) as stream:
        np.save(stream, array, allow_pickle=False)


def read_array(url: str) -> np.ndarray:
    with open_url(url) as stream:
        return np.load(stream, allow_pickle=False)
