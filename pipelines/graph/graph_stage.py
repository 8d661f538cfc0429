"""The third stage: the grid. Every source shard meets every target shard once, and one pass fills both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import apache_beam as beam
from apache_beam.metrics import Metrics
from pydantic import BaseModel, ConfigDict

from mining.errors import InputError
from mining.neighbours import write_neighbours
from mining.paths import resolve
from pipelines.datasets.manifest import (
    Counters,
    Dataset,
    Request,
    Shard,
    Work,
    begin,
    fingerprint,
    join,
    open_dataset,
    read_model,
    write_model,
)
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.grid_cells import SAMPLE, Cell, VectorShard, make_cell, merge_cells, opened
from pipelines.runners.progress import Phase, Watch
from pipelines.runners.runner import Runner, RunnerSettings, run

NAMESPACE = "twinlode.graph"
Direction = Literal["forward", "backward"]


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
        compute = beam.ParDo(ComputeCell(settings))
        if settings.accelerator:
            compute.with_resource_hints(accelerator=settings.accelerator)
        source, target = sides
        cells = (
            source
            | "Ready" >> beam.combiners.Count.Globally()
            | "Cells" >> beam.FlatMap(_pending, settings, beam.pvalue.AsList(target)).with_output_types(Cell)
            | "Spread" >> beam.Reshuffle()
            | "Compute" >> compute
        )
        return (
            cells
            | "ByShard" >> beam.FlatMap(_both_shards)
            | "Merge" >> beam.CombinePerKey(UniteCells())
            | "Write" >> beam.Map(_write_shard, settings).with_output_types(MergedShard)
            | "All" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, settings).with_output_types(Shard)
        )


class ComputeCell(beam.DoFn):
    """A cell to its scratch file."""

    def __init__(self, settings: GraphSettings) -> None:
        self.settings = settings

    def process(self, cell: Cell) -> Iterator[Cell]:
        settings = self.settings
        work = start(settings)
        if isinstance(work, Dataset):
            return
        make_cell(work, cell, settings.k, settings.mode, settings.device, settings.threads)
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


class MergedShard(BaseModel):
    """A finished shard of the graph, and how many true neighbours of its sample it has."""

    model_config = ConfigDict(frozen=True)

    shard: Shard
    direction: Direction
    hits: int
    total: int


def build_graph(settings: GraphSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the graph dataset `settings.out`, or continue to, or find it complete."""
    work = start(settings)
    if isinstance(work, Dataset):
        return work
    # One process: the kernel fills all cores by itself.
    run(GraphOfAll(settings), runner or RunnerSettings(), workers=1, watch=None if quiet else _watch(settings, work))
    return open_dataset(settings.out, "graph")


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
    datasets = [open_dataset(url, "vectors") for url in [*settings.source, *settings.target]]
    first = datasets[0]
    for other in datasets[1:]:
        for key in ("dim", "encoder", "dtype"):
            ours, theirs = (d.manifest.request.configuration[key] for d in (first, other))
            if ours != theirs:
                raise InputError(f"{first.url} has {key} {ours}, but {other.url} has {key} {theirs}; embed both alike")
    configuration = settings.model_dump(mode="json", include={"k", "mode"})
    return begin(
        settings.out,
        Request(kind="graph", configuration=configuration, inputs=[dataset.as_input() for dataset in datasets]),
    )


def vector_shards(urls: list[str]) -> list[VectorShard]:
    """All shards of a side, numbered."""
    datasets = [open_dataset(url, "vectors") for url in urls]
    found = [(dataset.shard_url(shard), shard.rows, shard.digest) for dataset in datasets for shard in dataset.shards]
    sample = -(-SAMPLE // max(len(found), 1))
    return [VectorShard(number, *shard, sample) for number, shard in enumerate(found)]


def grid(settings: GraphSettings) -> list[Cell]:
    return [Cell(s, t) for t in vector_shards(settings.target) for s in vector_shards(settings.source)]


def _pending(ready: int, settings: GraphSettings, also_ready: list[Shard]) -> list[Cell]:
    return [] if isinstance(start(settings), Dataset) else grid(settings)


def _both_shards(cell: Cell) -> list[tuple[tuple[Direction, int], Cell]]:
    return [(("forward", cell.source.number), cell), (("backward", cell.target.number), cell)]


def _write_shard(item: tuple[tuple[Direction, int], list[Cell]], settings: GraphSettings) -> MergedShard:
    """Merge the cells of a shard into its Parquet file, unless it is there already."""
    (direction, number), cells = item
    work = start(settings)
    assert isinstance(work, Work)
    note = work.scratch("merged", f"{direction}-{number:05d}.json")
    done = read_model(note, MergedShard)
    if done is not None:
        return done
    neighbours, recall = merge_cells([cell.url(work) for cell in cells], direction, settings.k)
    vectors = cells[0].source if direction == "forward" else cells[0].target
    ids = opened(vectors.url, vectors.digest).ids
    name = f"{direction}-{number:05d}.parquet"
    write_neighbours(join(settings.out, name), ids, neighbours, {"direction": direction})
    digest = fingerprint(ids.tobytes(), neighbours.ids.tobytes(), neighbours.scores.tobytes())
    index = number if direction == "forward" else number + len(vector_shards(settings.source))
    shard = Shard(index=index, name=name, rows=len(ids), digest=digest)
    merged = MergedShard(shard=shard, direction=direction, hits=recall.hits, total=recall.total)
    write_model(note, merged)
    return merged


def _complete(merged: list[MergedShard], settings: GraphSettings) -> list[Shard]:
    work = start(settings)
    if isinstance(work, Dataset):
        return work.shards
    rows = sum(part.shard.rows for part in merged)
    measures = {}
    for direction in ("forward", "backward"):
        parts = [part for part in merged if part.direction == direction]
        total = sum(part.total for part in parts)
        if total:
            measures[f"{direction}_recall"] = sum(part.hits for part in parts) / total
    return work.complete([part.shard for part in merged], Counters(rows_in=rows, kept=rows), measures).shards


def _watch(settings: GraphSettings, work: Work) -> Watch:
    """Progress by cells on disk."""
    cells = grid(settings)
    rows = {cell.url(work).rsplit("/", 1)[-1]: cell.source.rows * cell.target.rows for cell in cells}
    columns = sum({cell.target.number: cell.target.rows for cell in cells}.values())
    filesystem, path = resolve(work.scratch("cells"))

    seen: set[str] = set()  # the files are cleared away when the graph is complete

    def state() -> list[Phase]:
        filesystem.invalidate_cache()
        names = filesystem.ls(path, detail=False) if filesystem.isdir(path) else []
        seen.update(rows.keys() & {name.rsplit("/", 1)[-1] for name in names})
        done = sum(rows[name] for name in seen)
        return [Phase("graph", len(seen), len(cells), done // max(columns, 1), "cells")]

    return state
