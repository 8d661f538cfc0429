"""The third stage: the grid. Every source shard meets every target shard once, and one pass fills both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import apache_beam as beam
from apache_beam.metrics import Metrics

from mining.errors import InputError
from mining.paths import resolve
from pipelines.datasets.manifest import (
    SOURCE,
    TARGET,
    Dataset,
    Request,
    Shard,
    open_dataset,
    side_roles,
)
from pipelines.datasets.work import Work, begin, is_complete
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import (
    Direction,
    MergedShard,
    complete_graph,
    finished_shard,
    write_shard,
)
from pipelines.graph.grid_cells import SAMPLE, Cell, VectorShard, make_cell, merge_cells, opened
from pipelines.graph.partition import Partition, choose_copies, progress
from pipelines.graph.partition_stage import PartitionedGraph, search_here
from pipelines.runners.progress import Phase, Watch
from pipelines.runners.runner import Runner, RunnerSettings, run

NAMESPACE = "twinlode.graph"
VERSION = "1"  # to be raised with every change of the code that changes neighbours


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
            partition = plan | "Partition" >> beam.Map(_partition, settings).with_output_types(Partition)
            merged = partition | "Search" >> PartitionedGraph()
        else:
            merged = plan | "Grid" >> Grid(settings)
        return (
            merged
            | "All" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, settings).with_output_types(Shard)
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
        return (
            plan
            | "Cells" >> beam.FlatMap(cells_of).with_output_types(Cell)
            | "Spread" >> beam.Reshuffle()
            | "Compute" >> compute
            | "ByShard" >> beam.FlatMap(_both_shards)
            | "Merge" >> beam.CombinePerKey(UniteCells())
            | "Write" >> beam.Map(_write_shard, settings, beam.pvalue.AsSingleton(plan)).with_output_types(MergedShard)
        )


class ComputeCell(beam.DoFn):
    """A cell to its scratch file."""

    def __init__(self, settings: GraphSettings) -> None:
        self.settings = settings

    def process(self, cell: Cell) -> Iterator[Cell]:
        settings = self.settings
        if not is_complete(cell.folder):  # else this is a retry
            make_cell(cell, settings.k, settings.search, settings.device, settings.threads)
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


@dataclass(frozen=True)
class GridPlan:
    """What there is to do, found once: the shards of both sides, none where the graph is complete."""

    work: Work
    source: tuple[VectorShard, ...]
    target: tuple[VectorShard, ...]


def build_graph(settings: GraphSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the graph dataset `settings.out`, or continue to, or find it complete."""
    work = start(settings)
    if isinstance(work, Dataset):
        return work
    with work.alone():
        run(
            GraphOfAll(settings),
            runner or RunnerSettings(),
            workers=1,  # the kernel fills all cores by itself
            watch=None if quiet else _watch(make_plan(settings), settings),
            here=partial(_build_here, settings),
        )
    return open_dataset(settings.out, "graph")


def _build_here(settings: GraphSettings) -> None:
    """What `Graph` does, in this process."""
    plan = make_plan(settings)
    if settings.search == "partitioned":
        _complete(search_here(_partition(plan, settings)), settings)
        return
    step = ComputeCell(settings)
    by_shard: dict[tuple[Direction, int], list[Cell]] = {}
    for cell in cells_of(plan):
        for made in step.process(cell):
            for key, item in _both_shards(made):
                by_shard.setdefault(key, []).append(item)
    _complete([_write_shard(item, settings, plan) for item in by_shard.items()], settings)


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


def start(settings: GraphSettings) -> Work | Dataset:
    """The state of the output folder; vectors that do not fit each other are refused, naming both."""
    return begin(settings.out, graph_request(settings))


def graph_request(settings: GraphSettings) -> Request:
    sides = {side: [open_dataset(url, "vectors") for url in urls] for side, urls in _sides(settings)}
    _require_alike([*sides[SOURCE], *sides[TARGET]])
    inputs = [
        dataset.as_input(role, settings.out)
        for side, datasets in sides.items()
        for role, dataset in zip(side_roles(side, len(datasets)), datasets, strict=True)
    ]
    decisive = {"k", "search", "copies"} if settings.search == "partitioned" else {"k", "search"}
    configuration = settings.model_dump(mode="json", include=decisive)
    return Request(kind="graph", configuration=configuration, inputs=inputs, versions=_versions(settings))


def _versions(settings: GraphSettings) -> dict[str, str]:
    if settings.search == "exact":
        return {"graph": VERSION}
    import faiss

    return {"graph": VERSION, "faiss": faiss.__version__}


def _sides(settings: GraphSettings) -> list[tuple[str, list[str]]]:
    return [(SOURCE, settings.source), (TARGET, settings.target)]


def _require_alike(vectors: list[Dataset]) -> None:
    first = vectors[0]
    for other in vectors[1:]:
        for key in ("dim", "encoder", "dtype"):
            ours, theirs = (d.manifest.request.configuration[key] for d in (first, other))
            if ours != theirs:
                raise InputError(
                    f"{first.url} has {key} {ours}, but {other.url} has {key} {theirs}; embed both the same way"
                )


def make_plan(settings: GraphSettings) -> GridPlan:
    """The plan of the output folder."""
    work = start(settings)
    if isinstance(work, Dataset):
        return GridPlan(Work(work.url, work.manifest.request), (), ())
    return GridPlan(work, *(_vector_shards(urls) for _, urls in _sides(settings)))


def _make_plan(ready: int, settings: GraphSettings, also_ready: list[Shard]) -> GridPlan:
    return make_plan(settings)


def _partition(plan: GridPlan, settings: GraphSettings) -> Partition:
    return Partition(plan.work, plan.source, plan.target, settings.k, settings.copies, settings.threads)


def _vector_shards(urls: list[str]) -> tuple[VectorShard, ...]:
    """All shards of a side, numbered."""
    datasets = [open_dataset(url, "vectors") for url in urls]
    found = [(dataset.place(shard), shard.rows, shard.checksum) for dataset in datasets for shard in dataset.shards]
    sample = -(-SAMPLE // max(len(found), 1))
    return tuple(VectorShard(number, *shard, sample) for number, shard in enumerate(found))


def cells_of(plan: GridPlan) -> list[Cell]:
    return [Cell(plan.work.url, source, target) for target in plan.target for source in plan.source]


def _both_shards(cell: Cell) -> list[tuple[tuple[Direction, int], Cell]]:
    return [(("forward", cell.source.number), cell), (("backward", cell.target.number), cell)]


def _write_shard(
    item: tuple[tuple[Direction, int], list[Cell]], settings: GraphSettings, plan: GridPlan
) -> MergedShard:
    """Merge the cells of a shard into its Parquet file, unless it is there already."""
    (direction, number), cells = item
    work = plan.work
    done = finished_shard(work, direction, number)
    if done is not None:
        return done
    neighbours, check = merge_cells([cell.url for cell in cells], direction, settings.k)
    vectors = cells[0].source if direction == "forward" else cells[0].target
    index = number if direction == "forward" else number + len(plan.source)
    return write_shard(work, direction, number, index, opened(vectors.url, vectors.checksum).ids, neighbours, check)


def _complete(merged: list[MergedShard], settings: GraphSettings) -> list[Shard]:
    work = start(settings)
    if isinstance(work, Dataset):
        return work.shards
    return complete_graph(work, merged, _search_measures(work, settings))


def _search_measures(work: Work, settings: GraphSettings) -> dict[str, float]:
    if settings.search != "partitioned":
        return {}
    partition = _partition(GridPlan(work, *(_vector_shards(urls) for _, urls in _sides(settings))), settings)
    return {"cells": float(partition.cells), "copies": float(choose_copies(partition))}


def _watch(plan: GridPlan, settings: GraphSettings) -> Watch:
    if settings.search == "partitioned":
        return partial(progress, _partition(plan, settings))
    return _watch_grid(plan)


def _watch_grid(plan: GridPlan) -> Watch:
    """Progress by cells on disk."""
    cells = cells_of(plan)
    rows = {cell.url.rsplit("/", 1)[-1]: cell.source.rows * cell.target.rows for cell in cells}
    columns = sum(shard.rows for shard in plan.target)
    filesystem, path = resolve(plan.work.scratch("cells"))

    seen: set[str] = set()  # the files are cleared away when the graph is complete

    def state() -> list[Phase]:
        filesystem.invalidate_cache()
        names = filesystem.ls(path, detail=False) if filesystem.isdir(path) else []
        seen.update(rows.keys() & {name.rsplit("/", 1)[-1] for name in names})
        done = sum(rows[name] for name in seen)
        return [Phase("graph", len(seen), len(cells), done // max(columns, 1), "cells")]

    return state
