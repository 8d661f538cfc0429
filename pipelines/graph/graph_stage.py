"""The third stage: the grid. Every source shard meets every target shard once, and one pass fills both directions.

`build_graph` runs its steps in this process, or `graph_transform.Graph` on more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import JsonValue

from mining.approximate import EXACT_LIMIT, import_faiss
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
from pipelines.datasets.work import Work, begin
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import (
    Direction,
    MergedShard,
    complete_graph,
    finished_shard,
    write_shard,
)
from pipelines.graph.grid_cells import SAMPLE, Cell, VectorShard, make_cell, merge_cells, opened
from pipelines.runners.progress import Phase, Watch
from pipelines.runners.runner import Runner, RunnerSettings, run

if TYPE_CHECKING:
    import apache_beam as beam

    from pipelines.graph.partition import Partition

VERSION = "1"  # to be raised with every change of the code that changes neighbours


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
            partial(_transform, settings),
            runner or RunnerSettings(),
            workers=1,  # the kernel fills all cores by itself
            watch=None if quiet else _watch(make_plan(settings), settings),
            here=partial(_build_here, settings),
        )
    return open_dataset(settings.out, "graph")


def _transform(settings: GraphSettings) -> beam.PTransform:
    from pipelines.graph.graph_transform import GraphOfAll

    return GraphOfAll(settings)


def _build_here(settings: GraphSettings) -> None:
    """What `Graph` does, in this process."""
    plan = make_plan(settings)
    if settings.search == "partitioned":
        from pipelines.graph.partition import search_here

        complete(search_here(partition_of(plan, settings)), settings)
        return
    by_shard: dict[tuple[Direction, int], list[Cell]] = {}
    for cell in cells_of(plan):
        make_cell(cell, settings)
        for key, item in both_shards(cell):
            by_shard.setdefault(key, []).append(item)
    complete([write_graph_shard(item, settings, plan) for item in by_shard.items()], settings)


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
    rows = [sum(dataset.rows for dataset in datasets) for datasets in sides.values()]
    search = settings.search if settings.search != "auto" else _fitting_search(*rows)
    configuration: dict[str, JsonValue] = {"k": settings.k, "search": search}
    if search == "exact":
        return Request(kind="graph", configuration=configuration, inputs=inputs, versions={"graph": VERSION})
    # The memory chooses the index of an approximate search.
    configuration |= {"copies": settings.copies} if search == "partitioned" else {"memory": int(settings.memory)}
    versions = {"graph": VERSION, "faiss": import_faiss().__version__}
    return Request(kind="graph", configuration=configuration, inputs=inputs, versions=versions)


def _fitting_search(rows: int, columns: int) -> str:
    return "exact" if rows * columns <= EXACT_LIMIT else "approximate"


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


def partition_of(plan: GridPlan, settings: GraphSettings) -> Partition:
    from pipelines.graph.partition import Partition

    return Partition(plan.work, plan.source, plan.target, settings.k, settings.copies, settings.threads)


def _vector_shards(urls: list[str]) -> tuple[VectorShard, ...]:
    """All shards of a side, numbered."""
    datasets = [open_dataset(url, "vectors") for url in urls]
    found = [(dataset.place(shard), shard.rows, shard.checksum) for dataset in datasets for shard in dataset.shards]
    sample = -(-SAMPLE // max(len(found), 1))
    return tuple(VectorShard(number, *shard, sample) for number, shard in enumerate(found))


def cells_of(plan: GridPlan) -> list[Cell]:
    exact = plan.work.request.configuration["search"] == "exact"
    return [Cell(plan.work.url, exact, source, target) for target in plan.target for source in plan.source]


def both_shards(cell: Cell) -> list[tuple[tuple[Direction, int], Cell]]:
    return [(("forward", cell.source.number), cell), (("backward", cell.target.number), cell)]


def write_graph_shard(
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


def complete(merged: list[MergedShard], settings: GraphSettings) -> list[Shard]:
    work = start(settings)
    if isinstance(work, Dataset):
        return work.shards
    return complete_graph(work, merged, _search_measures(work, settings))


def _search_measures(work: Work, settings: GraphSettings) -> dict[str, float]:
    if settings.search != "partitioned":
        return {}
    from pipelines.graph.partition import choose_copies

    partition = partition_of(GridPlan(work, *(_vector_shards(urls) for _, urls in _sides(settings))), settings)
    return {"cells": float(partition.cells), "copies": float(choose_copies(partition))}


def _watch(plan: GridPlan, settings: GraphSettings) -> Watch:
    if settings.search == "partitioned":
        from pipelines.graph.partition import progress

        return partial(progress, partition_of(plan, settings))
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
