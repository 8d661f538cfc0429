"""The partitioned graph as Beam transforms, whose shuffle carries the vectors to their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics

from mining.neighbours import Neighbours
from mining.partition_kernels import absorb
from pipelines.graph.graph_shards import Direction, MergedShard
from pipelines.graph.key_batches import KeyRowsCoder
from pipelines.graph.partition import (
    FoundNeighbours,
    KeyRows,
    Routing,
    assign,
    joined_sides,
    make_keys,
    search_key,
    sum_counts,
    write_found,
)
from pipelines.graph.partition_plan import Item, Partition, items
from pipelines.graph.recall_sample import choose_copies, draw_sample, find_truth, train
from pipelines.runners.resource_hints import ask

NAMESPACE = "twinlode.graph"
RoutedRows = tuple[int, KeyRows]  # by key, of which Beam knows the coder
beam.coders.registry.register_coder(KeyRows, KeyRowsCoder)


class PartitionedGraph(beam.PTransform):
    """A `Partition` to the finished shards of its graph. Vectors go to their keys as Arrow batches, and neighbours back
    to their shards as arrays, through GroupByKey; the other steps leave files and pass on that they are done. `memory`
    is asked for where the codebook is trained and keys are searched."""

    def __init__(self, memory: int | None = None) -> None:
        super().__init__()
        self.memory = memory

    def expand(self, plan: beam.PCollection[Partition]) -> beam.PCollection[MergedShard]:
        the = beam.pvalue.AsSingleton(plan)
        shards = plan | "Shards" >> beam.FlatMap(items).with_output_types(Item) | "Spread" >> beam.Reshuffle()
        sampled = shards | "Sample" >> beam.Map(_sample, the) | "Sampled" >> beam.combiners.Count.Globally()
        trained = sampled | "Train" >> ask(beam.Map(_train, the), None, self.memory)
        compared = (
            shards
            | "Truth" >> beam.Map(_find_truth, the, beam.pvalue.AsSingleton(trained))
            | "Compared" >> beam.combiners.Count.Globally()
        )
        chosen = trained | "Choose" >> beam.Map(_choose, the, beam.pvalue.AsSingleton(compared))
        grouped = (
            shards
            | "Assign" >> beam.Map(_assign, the, beam.pvalue.AsSingleton(chosen))
            | "Counts" >> beam.CombineGlobally(sum_counts)
            | "Keys" >> beam.Map(_make_keys, the)
        )
        found = (
            shards
            | "Route" >> beam.FlatMap(_route, the, beam.pvalue.AsSingleton(grouped)).with_output_types(RoutedRows)
            | "ByKey" >> beam.GroupByKey()
            | "Search" >> ask(beam.FlatMap(_search, the), None, self.memory)
        )
        every = shards | "Every" >> beam.Map(_empty)  # also shards that no key has anything for
        return (
            (every, found)
            | "Both" >> beam.Flatten()
            | "ByShard" >> beam.GroupByKey()
            | "Write" >> beam.Map(_write, the).with_output_types(MergedShard)
        )


def _sample(item: Item, partition: Partition) -> str:
    draw_sample(item, partition)
    return item.side


def _train(ready: int, partition: Partition) -> int:
    train(partition)
    return ready


def _find_truth(item: Item, partition: Partition, ready: int) -> str:
    find_truth(item, partition)
    return item.side


def _choose(ready: int, partition: Partition, also_ready: int) -> int:
    return choose_copies(partition).copies


def _assign(item: Item, partition: Partition, copies: int) -> np.ndarray:
    return assign(item, partition)


def _make_keys(counts: np.ndarray, partition: Partition) -> int:
    make_keys(partition, counts)
    return len(counts)


def _route(item: Item, partition: Partition, ready: int) -> Iterator[RoutedRows]:
    routing = Routing.of(item, partition)
    for key in routing.by_key.cells.tolist():
        yield key, routing.rows_of(key)


def _search(
    keyed: tuple[int, Iterable[KeyRows]], partition: Partition
) -> list[tuple[tuple[str, int], FoundNeighbours]]:
    found = search_key(joined_sides(list(keyed[1])), partition)
    Metrics.counter(NAMESPACE, "similarities").inc(found.comparisons)
    return [((item.side, item.shard.number), part) for item, part in found.parts]


def _empty(item: Item) -> tuple[tuple[str, int], FoundNeighbours]:
    return (item.side, item.shard.number), FoundNeighbours(np.empty(0, np.int64), Neighbours.none(0, 1))


def _write(keyed: tuple[tuple[Direction, int], Iterable[FoundNeighbours]], partition: Partition) -> MergedShard:
    (side, number), parts = keyed
    item = Item(side, partition.shards(side)[number])
    whole = Neighbours.none(item.shard.rows, partition.k)
    for part in parts:
        absorb(*whole, part.rows, *part.found)
    return write_found(item, whole, partition)
