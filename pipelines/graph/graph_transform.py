"""The Beam transform of the third stage: cells spread over workers, their neighbours merged by shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
from apache_beam.metrics import Metrics

from pipelines.datasets.manifest import Shard, open_dataset
from pipelines.datasets.work import is_complete
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import MergedShard
from pipelines.graph.graph_stage import (
    GridPlan,
    both_shards,
    cells_of,
    complete,
    make_plan,
    partition_of,
    write_graph_shard,
)
from pipelines.graph.grid_cells import Cell, make_cell
from pipelines.graph.partition import Partition
from pipelines.graph.partition_stage import PartitionedGraph

NAMESPACE = "twinlode.graph"


class Graph(beam.PTransform):
    """The `Shard`s of two vectors datasets to those of their neighbour graph, given when it is complete.

    Example::

        source = english | "English" >> Embed(...)
        target = german | "German" >> Embed(...)
        settings = GraphSettings(source=["work/en-vectors"], target=["work/de-vectors"], out="work/graph")
        graph = (source.vectors, target.vectors) | Graph(settings)

    The vectors are read from the settings' folders: the two collections say when these are complete. Every finished
    cell is a file in the work folder, so that a restart computes only the missing ones.
    """

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, sides: tuple[beam.PCollection[Shard], beam.PCollection[Shard]]) -> beam.PCollection[Shard]:
        settings = self.settings
        source, target = sides
        plan = (
            source
            | "Ready" >> beam.combiners.Count.Globally()
            | "Plan" >> beam.Map(_make_plan, settings, beam.pvalue.AsList(target)).with_output_types(GridPlan)
        )
        if settings.search == "partitioned":
            partition = plan | "Partition" >> beam.Map(partition_of, settings).with_output_types(Partition)
            merged = partition | "Search" >> PartitionedGraph()
        else:
            merged = plan | "Grid" >> Grid(settings)
        return (
            merged
            | "All" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(complete, settings).with_output_types(Shard)
        )


class Grid(beam.PTransform):
    """A plan to the finished shards of its graph: every source shard meets every target shard."""

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, plan: beam.PCollection[GridPlan]) -> beam.PCollection[MergedShard]:
        settings = self.settings
        compute = beam.ParDo(ComputeCell(settings))
        if settings.accelerator:
            compute.with_resource_hints(accelerator=settings.accelerator)
        write = beam.Map(write_graph_shard, settings, beam.pvalue.AsSingleton(plan))
        return (
            plan
            | "Cells" >> beam.FlatMap(cells_of).with_output_types(Cell)
            | "Spread" >> beam.Reshuffle()
            | "Compute" >> compute
            | "ByShard" >> beam.FlatMap(both_shards)
            | "Merge" >> beam.CombinePerKey(UniteCells())
            | "Write" >> write.with_output_types(MergedShard)
        )


class ComputeCell(beam.DoFn):
    """A cell to its scratch file."""

    def __init__(self, settings: GraphSettings) -> None:
        self.settings = settings

    def process(self, cell: Cell) -> Iterator[Cell]:
        if not is_complete(cell.folder):  # else this is a retry
            make_cell(cell, self.settings)
            Metrics.counter(NAMESPACE, "similarities").inc(cell.source.rows * cell.target.rows)
            yield cell


class UniteCells(beam.CombineFn):
    """The set of cells of a shard, by reference: lists of neighbours stay in files and memory holds two at a time.

    A union, so cells may come in any order, grouping and number.
    """

    def create_accumulator(self) -> frozenset[Cell]:
        return frozenset()

    def add_input(self, accumulator: frozenset[Cell], cell: Cell) -> frozenset[Cell]:
        return accumulator | {cell}

    def merge_accumulators(self, accumulators: Iterable[frozenset[Cell]]) -> frozenset[Cell]:
        return frozenset().union(*accumulators)

    def extract_output(self, accumulator: frozenset[Cell]) -> list[Cell]:
        return sorted(accumulator)


class GraphOfAll(beam.PTransform):
    """`Graph` of complete datasets, as the root of a pipeline."""

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        sides = [
            pbegin | name >> beam.Create([shard for url in urls for shard in open_dataset(url, "vectors").shards])
            for name, urls in (("Source", self.settings.source), ("Target", self.settings.target))
        ]
        return tuple(sides) | "Graph" >> Graph(self.settings)


def _make_plan(ready: int, settings: GraphSettings, also_ready: list[Shard]) -> GridPlan:
    return make_plan(settings)
