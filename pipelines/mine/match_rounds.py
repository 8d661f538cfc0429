"""Greedy one-to-one matching without a global sort: Beam transforms.

An edge that is the best (score, then lowest source, then lowest target) at both of its ends is in the greedy matching,
since nothing before it in greedy order touches either end. Taking all such edges, removing what touches them, and
again, ends in the greedy matching (Preis 1999; Hoepman 2004). Real graphs shrink fast from round to round, so a few
rounds leave little for one worker; few edges go to one worker at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np

from pipelines.mine.edges import EDGE
from pipelines.mine.matching import greedy, is_best_at
from pipelines.mine.mine_settings import ONE_WORKER_EDGES

# Greedy matching of this many edges takes one worker some 10 s and 2 GB.
IDS_PER_WORKER = 1 << 20
ROUNDS = 6
TAKEN, REST = "taken", "rest"


class Match(beam.PTransform):
    """Arrays of `EDGE`s to arrays of those in the greedy one-to-one matching, spread over workers by id.

    Example::

        taken = edges | Match()

    Every edge may come once only. Up to `one_worker_edges` edges are matched by one worker; of more, each worker takes
    those of `ids_per_worker` sentences in turn.
    """

    def __init__(
        self, one_worker_edges: int = ONE_WORKER_EDGES, ids_per_worker: int = IDS_PER_WORKER, rounds: int = ROUNDS
    ) -> None:
        super().__init__()
        self.one_worker_edges, self.ids_per_worker, self.rounds = one_worker_edges, ids_per_worker, rounds

    def expand(self, edges: beam.PCollection[np.ndarray]) -> beam.PCollection[np.ndarray]:
        total = edges | "Sizes" >> beam.Map(len) | "Total" >> beam.CombineGlobally(sum)
        few = beam.pvalue.AsSingleton(total | "Few" >> beam.Map(_at_most, self.one_worker_edges))
        rest = edges | "Many" >> beam.FlatMap(_if, few, False)
        taken = []
        for number in range(self.rounds):
            done = rest | f"Round{number}" >> Round(self.ids_per_worker)
            taken.append(done[TAKEN])
            rest = done[REST]
        alone = (edges | "Whole" >> beam.FlatMap(_if, few, True), rest)
        last = (
            alone
            | "Left" >> beam.Flatten()
            | "OneKey" >> beam.Map(_with_key, 0)
            | "Together" >> beam.GroupByKey()
            | "Greedy" >> beam.MapTuple(_greedy_of)
        )
        return (*taken, last) | "Taken" >> beam.Flatten()


class Round(beam.PTransform):
    """One round: each source marks its best edge, each target takes its best if it is marked, losers are removed."""

    def __init__(self, ids_per_worker: int) -> None:
        super().__init__()
        self.ids_per_worker = ids_per_worker

    def expand(self, edges: beam.PCollection[np.ndarray]) -> dict[str, beam.PCollection[np.ndarray]]:
        size = self.ids_per_worker
        at_target = (
            edges
            | "ToSources" >> beam.FlatMap(split, "source", size)
            | "BySource" >> beam.GroupByKey()
            | "Mark" >> beam.FlatMap(_mark, size)
            | "ByTarget" >> beam.GroupByKey()
            | "Take" >> beam.FlatMapTuple(_take).with_outputs(TAKEN, main=REST)
        )
        rest = (
            (
                at_target[REST] | "RestToSources" >> beam.FlatMap(split, "source", size),
                at_target[TAKEN] | "TakenToSources" >> beam.FlatMap(split_taken, size),
            )
            | "Both" >> beam.Flatten()
            | "AgainBySource" >> beam.GroupByKey()
            | "Remove" >> beam.FlatMapTuple(_remove)
        )
        return {TAKEN: at_target[TAKEN], REST: rest}


def split(edges: np.ndarray, end: str, size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Edges by the range of `size` ids that their source or target lies in."""
    numbers = edges[end] // size
    for number in np.unique(numbers).tolist():
        yield number, edges[numbers == number]


def split_taken(edges: np.ndarray, size: int) -> Iterator[tuple[int, np.ndarray]]:
    """As `split`, but of the sources alone: what is not an array of edges says which sources are gone."""
    for number, part in split(edges, "source", size):
        yield number, part["source"].copy()


def _mark(item: tuple[int, Iterable[np.ndarray]], size: int) -> Iterator[tuple[int, tuple]]:
    edges = np.concatenate(list(item[1]))
    best = is_best_at(edges, "source")
    numbers = edges["target"] // size
    for target in np.unique(numbers).tolist():
        yield target, (edges[numbers == target], best[numbers == target])


def _take(number: int, parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> Iterator:
    marked = list(parts)
    edges = np.concatenate([part for part, _ in marked])
    taken = edges[np.concatenate([best for _, best in marked]) & is_best_at(edges, "target")]
    rest = edges[~np.isin(edges["target"], taken["target"])]
    if len(rest):
        yield rest
    if len(taken):
        yield beam.pvalue.TaggedOutput(TAKEN, taken)


def _remove(number: int, parts: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    everything = list(parts)
    gone = [part for part in everything if part.dtype != EDGE]
    left = [part for part in everything if part.dtype == EDGE]
    if left:
        edges = np.concatenate(left)
        edges = edges[~np.isin(edges["source"], np.concatenate(gone))] if gone else edges
        if len(edges):
            yield edges


def _greedy_of(number: int, parts: Iterable[np.ndarray]) -> np.ndarray:
    return greedy(np.concatenate(list(parts)))


def _at_most(total: int, limit: int) -> bool:
    return total <= limit


def _if(edges: np.ndarray, flag: bool, wanted: bool) -> list[np.ndarray]:
    return [edges] if flag == wanted and len(edges) else []


def _with_key(edges: np.ndarray, key: int) -> tuple[int, np.ndarray]:
    return key, edges
