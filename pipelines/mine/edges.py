"""Edges between sentences on their way to pairs: compact arrays, and the neighbour means that their scores need.

The means of a side are one file of eight bytes a sentence, which every worker maps; so no worker opens the files of all
shards of the other side.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from mining.files import atomic_writer
from mining.margin import Margin
from mining.neighbours import Neighbours, read_neighbours
from mining.paths import exists, local_path, open_url
from mining.retrieval import BACKWARD, FORWARD, join_directions, scored_edges
from mining.top_k import MISSING
from pipelines.datasets.contents import check_file
from pipelines.datasets.work import Work, identity

EDGE = np.dtype([("source", "<i8"), ("target", "<i8"), ("score", "<f4"), ("cosine", "<f4"), ("directions", "u1")])
Direction = Literal["forward", "backward"]
DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")
OTHER: dict[Direction, Direction] = {"forward": "backward", "backward": "forward"}
BIT: dict[Direction, int] = {"forward": FORWARD, "backward": BACKWARD}
_MEAN = np.dtype("<f8")


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

    def rows(self, direction: Direction) -> int:
        """Ids of a side, missing ones included."""
        shards = self.of(direction)
        return shards[-1].end if shards else 0


def as_edges(
    source: np.ndarray,
    target: np.ndarray,
    score: np.ndarray | float,
    cosine: np.ndarray,
    directions: np.ndarray | int,
) -> np.ndarray:
    edges = np.empty(len(source), EDGE)
    edges["source"], edges["target"], edges["score"] = source, target, score
    edges["cosine"], edges["directions"] = cosine, directions
    return edges


def write_means(work: Work, shard: GraphShard) -> GraphShard:
    """Mean cosine of the neighbours of each id of a shard, zero where the id is missing."""
    url = work.scratch("means", shard.name)
    if not exists(url):
        ids, neighbours = shard.read()
        means = np.zeros(shard.end - shard.first)
        means[ids - shard.first] = neighbours.means()
        write_array(url, means)
    return shard


def join_means(work: Work, direction: Direction, sides: Sides) -> Direction:
    """The means of all shards of a side in one file."""
    url = _means_url(work, direction)
    if not exists(url):
        with atomic_writer(url) as stream:
            for shard in sides.of(direction):
                stream.write(read_array(work.scratch("means", shard.name)).astype(_MEAN).tobytes())
    return direction


def means_of(work: Work, direction: Direction) -> np.ndarray:
    """The means of a side, mapped once a process."""
    return _mapped(_means_url(work, direction), identity(work.request))


def forget_means() -> None:
    """Let go of the maps: their pages count as memory of a process that has touched them."""
    _mapped.cache_clear()


@lru_cache(maxsize=2)
def _mapped(url: str, request: str) -> np.ndarray:
    local = local_path(url)
    if local is not None:
        return _map(local)
    with tempfile.NamedTemporaryFile(prefix="twinlode-") as copy:  # the map outlives its name
        with open_url(url) as stream:
            shutil.copyfileobj(stream, copy, 16 << 20)
        copy.flush()
        return _map(copy.name)


def _map(path: str) -> np.ndarray:
    try:
        return np.memmap(path, _MEAN, "r")
    except ValueError:  # there is nothing in it
        return np.empty(0, _MEAN)


def _means_url(work: Work, direction: Direction) -> str:
    return work.scratch("means", f"{direction}.f8")


def score_edges(work: Work, shard: GraphShard, margin: Margin, *, best_only: bool) -> np.ndarray:
    """The edges of a shard with their margins and the bit of its direction, or the best edge of each row."""
    ids, neighbours = shard.read()
    present = neighbours.ids != MISSING
    others = np.unique(neighbours.ids[present])  # in order, so that ties still go to the lowest id
    local = Neighbours(
        np.where(present, np.searchsorted(others, neighbours.ids), MISSING).astype(np.int64), neighbours.scores
    )
    other_means = np.asarray(means_of(work, OTHER[shard.direction])[others])
    rows, places, scores, cosines = scored_edges(local, neighbours.means(), other_means, margin, best_only)
    own, other = ids[rows], others[places]
    source, target = (own, other) if shard.direction == "forward" else (other, own)
    return as_edges(source, target, scores, cosines, BIT[shard.direction])


def best_first(edges: np.ndarray) -> np.ndarray:
    """By score, ties by lowest source and then target: the order of the pairs, and of greedy matching."""
    return edges[np.lexsort((edges["target"], edges["source"], -edges["score"]))]


def united(ordered: np.ndarray) -> np.ndarray:
    """Edges in order, of which one that both of its ends propose becomes one with both bits: it scores the same."""
    kept, ordered["directions"] = join_directions(ordered["source"], ordered["target"], ordered["directions"])
    return ordered[kept]


def write_array(url: str, array: np.ndarray) -> None:
    with atomic_writer(url) as stream:
        np.save(stream, array, allow_pickle=False)


def read_array(url: str) -> np.ndarray:
    with open_url(url) as stream:
        return np.load(stream, allow_pickle=False)
