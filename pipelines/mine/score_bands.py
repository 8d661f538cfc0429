"""All edges in order without a worker that holds them all: bands of scores, each sorted by itself.

Greedy matching (`max`) is the one pass over all edges that one worker makes, since what is taken of a band depends on
all better ones: it goes through the bands in turn, best first, and holds one of them and a bit for each sentence. Other
kinds of retrieval choose edges by themselves, in each band. A hub, to which any number of edges lead, is nothing
special: its edges lie in many bands.

Where more edges than a band may have are of one coarse score, or of one score, the band is cut between edges: every
shard marks some of its own in the order of the matching, by which the cuts are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from mining.retrieval import BACKWARD, FORWARD, Retrieval, no_bits, take_free
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import read_model, write_model
from pipelines.datasets.work import Work
from pipelines.mine.edges import EDGE, Sides, best_first, read_array, united, write_array

MARK = np.dtype([("score", "<f4"), ("source", "<i8"), ("target", "<i8"), ("edges", "<i8")])
_COARSE = np.uint32(0xFFFFF000)  # a sign, an exponent and 11 bits: 2,048 steps from 1 to 2


class Matching(BaseModel):
    """The note that all bands are matched: how many edges each has left."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: list[int]


class SortedBand(NamedTuple):
    """A band that is on disk: how many edges it has."""

    number: int
    rows: int


class Bands(NamedTuple):
    """Ranges of scores, highest first, by the lowest coarse score of each; and of edges, where a range is too full."""

    lows: np.ndarray  # (ranges,) float32, decreasing
    crowded: np.ndarray  # coarse scores of too many edges, each a range of its own
    cuts: np.ndarray  # of MARK, best first: a band ends with each of these edges, as with each range

    @classmethod
    def cut(cls, counts: ScoreCounts, most: int) -> Bands:
        """Bands of at most `most` edges, as far as edges of one coarse score allow."""
        lows: list[float] = []
        filled = 0
        crowded = counts.values[counts.counts > most].astype(np.float32)
        for value, count in zip(counts.values.tolist(), counts.counts.tolist(), strict=True):
            if lows and filled + count <= most:
                lows[-1] = value
                filled += count
            else:
                lows.append(value)
                filled = count
        return cls(np.array(lows, np.float32), crowded, np.zeros(0, MARK))

    def marks(self, edges: np.ndarray, most: int, shards: int) -> np.ndarray:
        """Some edges of a shard that are of crowded scores, best first, and how many there are up to each."""
        own = best_first(edges[np.isin(coarse(edges["score"]), self.crowded)])
        ends = np.append(np.arange(_step(most, shards), len(own), _step(most, shards)), len(own))
        marks = np.zeros(len(ends) if len(own) else 0, MARK)
        for name in ("score", "source", "target"):
            marks[name] = own[name][ends[: len(marks)] - 1]
        marks["edges"] = np.diff(ends, prepend=0)[: len(marks)]
        return marks

    def cut_finer(self, marks: np.ndarray, most: int) -> Bands:
        """Bands of at most `most` edges (one more where both ends of an edge propose it), by the marks of all shards.

        Between two cuts lie half of `most` by the marks there, and of each shard less than a step besides.
        """
        marks = best_first(marks)
        ranges = np.searchsorted(-self.lows, -coarse(marks["score"]))
        before = np.cumsum(marks["edges"]) - marks["edges"]
        first = np.searchsorted(ranges, ranges)
        part = (before - before[first]) // max(most // 2, 1)
        keys = marks[["score", "source", "target"]]
        last = np.searchsorted(ranges, ranges, side="right") - 1
        ends = np.flatnonzero((ranges[1:] == ranges[:-1]) & (part[1:] != part[:-1]))
        ends = ends[keys[ends] != keys[last[ends]]]  # the last edge of a range ends a band anyway
        different = np.ones(len(ends), bool)
        different[1:] = keys[ends[1:]] != keys[ends[:-1]]
        return self._replace(cuts=marks[ends[different]])

    def split(self, edges: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Edges by the number of their band."""
        numbers = np.searchsorted(-self.lows, -coarse(edges["score"]))
        yield from split_by(numbers + _cuts_before(edges, self.cuts), edges)


def _step(most: int, shards: int) -> int:
    """Edges from one mark of a shard to the next: those of all shards together are a quarter of a band."""
    return max(1, most // (4 * (shards + 1)))


def _cuts_before(edges: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """How many of the cuts each edge lies behind; an edge at which there is a cut lies before it."""
    if not len(cuts):
        return np.zeros(len(edges), np.int64)
    score, source, target = (np.concatenate([edges[name], cuts[name]]) for name in ("score", "source", "target"))
    is_cut = np.arange(len(score)) >= len(edges)
    order = np.lexsort((is_cut, target, source, -score))
    behind = np.empty(len(order), np.int64)
    behind[order] = np.cumsum(is_cut[order])
    return behind[: len(edges)]


def joined_marks(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, MARK), *parts])


def coarse(scores: np.ndarray) -> np.ndarray:
    """Scores cut off after eleven bits: of what goes to different bands, the order stays."""
    return (np.ascontiguousarray(scores).view(np.uint32) & _COARSE).view(np.float32)


def split_by(keys: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of each key, in their order."""
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    for key, start, stop in zip(found.tolist(), starts, [*starts[1:], len(order)], strict=False):
        yield key, rows[order[start:stop]]


def sort_band(work: Work, number: int, parts: Iterable[np.ndarray], retrieval: Retrieval) -> SortedBand:
    """Sort the edges of a band and keep those that the kind of retrieval wants."""
    edges = united(best_first(np.concatenate([np.zeros(0, EDGE), *parts])))
    wanted = {Retrieval.forward: FORWARD, Retrieval.backward: BACKWARD, Retrieval.intersect: FORWARD | BACKWARD}
    bits = wanted.get(retrieval, 0)
    edges = edges[(edges["directions"] & bits) == bits]
    write_array(_url(work, number, "sorted" if retrieval == Retrieval.max else "matched"), edges)
    return SortedBand(number, len(edges))


def match_bands(work: Work, bands: Iterable[SortedBand], sides: Sides, retrieval: Retrieval) -> Matching:
    """Note what is left of each band: with `max` what greedy one-to-one matching takes of it, else all."""
    done = matching_of(work)
    if done is not None:
        return done
    ordered = sorted(bands)
    greedy = retrieval == Retrieval.max
    matching = Matching(rows=_take_greedily(work, ordered, sides) if greedy else [band.rows for band in ordered])
    write_model(_note_url(work), matching)
    return matching


def _take_greedily(work: Work, bands: Iterable[SortedBand], sides: Sides) -> list[int]:
    source_taken, target_taken = no_bits(sides.rows("forward")), no_bits(sides.rows("backward"))
    rows = []
    for band in bands:
        edges = read_array(_url(work, band.number, "sorted"))
        source, target = (np.ascontiguousarray(edges[end]) for end in ("source", "target"))
        edges = edges[take_free(source, target, source_taken, target_taken)]
        write_array(_url(work, band.number, "matched"), edges)
        rows.append(len(edges))
    return rows


def matching_of(work: Work) -> Matching | None:
    return read_model(_note_url(work), Matching)


def matched_edges(work: Work, number: int) -> np.ndarray:
    """The edges of a band that are in the matching, best first."""
    return read_array(_url(work, number, "matched"))


def _url(work: Work, number: int, state: str) -> str:
    return work.scratch(state, f"{number:05d}.npy")


def _note_url(work: Work) -> str:
    return work.scratch("matching.json")
