"""The Beam transform of the third stage: cells spread over workers, their neighbours merged by shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
from apache_beam.metrics import Metrics

from pipelines.datasets.manifest import Shard
from pipelines.datasets.side_datasets import open_side
from pipelines.datasets.work import is_complete
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import MergedShard
from pipelines.graph.graph_stage import (
    GridPlan,
    Row,
    both_rows,
    complete,
    make_plan,
    panels_of,
    partition_of,
    plan_for,
    search_whole,
    with_search,
    write_row,
)
from pipelines.graph.grid_panels import GridPanel, make_panel
from pipelines.graph.partition import Partition
from pipelines.graph.partition_stage import PartitionedGraph
from pipelines.runners.resource_hints import ask

NAMESPACE = "twinlode.graph"


class Graph(beam.PTransform):
    """The `Shard`s of two vectors datasets to those of their neighbour graph, given when it is complete.

    Example::

        source = english | "English" >> Embed(...)
        target = german | "German" >> Embed(...)
        settings = GraphSettings(source="work/en-vectors", target="work/de-vectors", out="work/graph")
        graph = (source.vectors, target.vectors) | Graph(settings)

    The vectors are read from the settings' folders: the two collections say when these are complete. Every finished
    panel is a file in the work folder, so that a restart computes only the missing ones. With `auto` there is a branch
    for each search, and the one that suits the vectors has work when they are there.
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
        return (
            self._search(plan)
            | "All" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(complete, settings).with_output_types(Shard)
        )

    def _search(self, plan: beam.PCollection[GridPlan]) -> beam.PCollection[MergedShard]:
        settings = self.settings
        if settings.search == "approximate":
            search = beam.FlatMap(search_whole, settings).with_output_types(MergedShard)
            return plan | "Whole" >> ask(search, None, _memory(settings))
        searches = {"exact": Grid(settings), "partitioned": Partitioned(settings)}
        if settings.search != "auto":
            return plan | "Search" >> searches[settings.search]
        found = [
            plan
            | f"{name.capitalize()}Plan" >> beam.Map(plan_for, name, settings).with_output_types(GridPlan)
            | f"{name.capitalize()}Search" >> search
            for name, search in searches.items()
        ]
        return found | "Either" >> beam.Flatten()


class Partitioned(beam.PTransform):
    """A plan to the finished shards of its graph: vectors that are near meet."""

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, plan: beam.PCollection[GridPlan]) -> beam.PCollection[MergedShard]:
        partition = plan | "Partition" >> beam.Map(partition_of, self.settings).with_output_types(Partition)
        return partition | "Keys" >> PartitionedGraph(_memory(self.settings))


class Grid(beam.PTransform):
    """A plan to the finished shards of its graph: every source shard meets every target shard."""

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, plan: beam.PCollection[GridPlan]) -> beam.PCollection[MergedShard]:
        settings = self.settings
        compute = ask(beam.ParDo(ComputePanel(settings)), settings.accelerator, _memory(settings))
        write = beam.FlatMap(write_row, settings, beam.pvalue.AsSingleton(plan))
        return (
            plan
            | "Panels" >> beam.FlatMap(panels_of, settings).with_output_types(GridPanel)
            | "Spread" >> beam.Reshuffle()
            | "Compute" >> compute
            | "Rows" >> beam.FlatMap(_with_rows)
            | "ByRow" >> beam.CombinePerKey(UnitePanels())
            | "Write" >> write.with_output_types(MergedShard)
        )


class ComputePanel(beam.DoFn):
    """A panel to its scratch files."""

    def __init__(self, settings: GraphSettings) -> None:
        self.settings = settings

    def process(self, panel: GridPanel) -> Iterator[GridPanel]:
        if not is_complete(panel.folder):  # else this is a retry
            make_panel(panel, self.settings)
            Metrics.counter(NAMESPACE, "similarities").inc(panel.comparisons)
            yield panel


class UnitePanels(beam.CombineFn):
    """The set of panels of a row, by reference: lists of neighbours stay in files and memory holds two at a time.

    A union, so panels may come in any order, grouping and number.
    """

    def create_accumulator(self) -> frozenset[GridPanel]:
        return frozenset()

    def add_input(self, accumulator: frozenset[GridPanel], panel: GridPanel) -> frozenset[GridPanel]:
        return accumulator | {panel}

    def merge_accumulators(self, accumulators: Iterable[frozenset[GridPanel]]) -> frozenset[GridPanel]:
        return frozenset().union(*accumulators)

    def extract_output(self, accumulator: frozenset[GridPanel]) -> list[GridPanel]:
        return sorted(accumulator)


class GraphOfAll(beam.PTransform):
    """`Graph` of complete datasets, as the root of a pipeline."""

    def __init__(self, settings: GraphSettings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        sides = [
            pbegin | name >> beam.Create(open_side(folders, "vectors").shards)
            for name, folders in (("Source", self.settings.source), ("Target", self.settings.target))
        ]
        return tuple(sides) | "Graph" >> Graph(with_search(self.settings))


def _memory(settings: GraphSettings) -> int | None:
    return settings.memory if settings.min_ram else None


def _make_plan(ready: int, settings: GraphSettings, also_ready: list[Shard]) -> GridPlan:
    return make_plan(settings)


def _with_rows(panel: GridPanel) -> list[tuple[Row, GridPanel]]:
    return [(row, panel) for row in both_rows(panel)]
