"""The third stage: every source shard meets every target shard once, and one pass fills both directions.

`build_graph` runs its steps in this process, or `graph_transform.Graph` on more of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pydantic import JsonValue

from mining.approximate import EXACT_LIMIT, approximate_graph, import_faiss
from mining.errors import InputError
from mining.neighbours import Neighbours
from mining.paths import resolve
from pipelines.datasets.manifest import (
    SOURCE,
    TARGET,
    Dataset,
    Request,
    Shard,
    fingerprint,
    open_dataset,
    read_model,
)
from pipelines.datasets.side_datasets import SideDatasets, open_side
from pipelines.datasets.work import Work, begin
from pipelines.graph.graph_settings import GraphSettings, Search
from pipelines.graph.graph_shards import (
    DIRECTIONS,
    Direction,
    MergedShard,
    SampleCheck,
    complete_graph,
    finished_shard,
    write_shard,
)
from pipelines.graph.grid_panels import GridPanel, PanelNote, make_panel, merge_panels, panels, progress_url
from pipelines.graph.vector_sides import VectorShard, opened, vector_shards, whole_side
from pipelines.runners.progress import Phase, Watch
from pipelines.runners.runner import Runner, RunnerSettings, run

if TYPE_CHECKING:
    import apache_beam as beam

    from pipelines.graph.partition_plan import Partition

Row = tuple[Direction, int]
VERSION = "1"  # to be raised with every change of the code that changes neighbours
PARTITION_VERSION = "6"  # the same of partitioned graphs alone


@dataclass(frozen=True)
class GridPlan:
    """What there is to do, found once: the shards of both sides, none where the graph is complete."""

    work: Work
    source: tuple[VectorShard, ...]
    target: tuple[VectorShard, ...]
    dim: int
    encoder: str


def build_graph(settings: GraphSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the graph dataset `settings.out`, or continue to, or find it complete."""
    settings = with_search(settings)
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
    if settings.search == "approximate":
        complete(search_whole(plan, settings), settings)
        return
    by_row: dict[Row, list[GridPanel]] = {}
    for panel in panels_of(plan, settings):
        make_panel(panel, settings)
        for key in both_rows(panel):
            by_row.setdefault(key, []).append(panel)
    complete([shard for item in by_row.items() for shard in write_row(item, settings, plan)], settings)


def start(settings: GraphSettings) -> Work | Dataset:
    """The state of the output folder; vectors that do not fit each other are refused, naming both."""
    return begin(settings.out, graph_request(settings))


def graph_request(settings: GraphSettings) -> Request:
    source, target = (open_side(folders, "vectors") for folders in (settings.source, settings.target))
    given = source.by_role(SOURCE) | target.by_role(TARGET)
    _require_same_encoder([*given.values()])
    inputs = [dataset.as_input(role, settings.out) for role, dataset in given.items()]
    search = with_search(settings).search
    configuration: dict[str, JsonValue] = {"k": settings.k, "search": search}
    versions = {"graph": VERSION}
    if search == "partitioned":
        configuration |= {"copies": settings.copies, **_what_decides(settings, source, target)}
        versions |= {"partition": PARTITION_VERSION}
    elif search == "approximate":
        configuration |= {"memory": int(settings.memory)}  # it chooses the index
        versions |= {"faiss": import_faiss().__version__}
    return Request(kind="graph", configuration=configuration, inputs=inputs, versions=versions)


def _what_decides(settings: GraphSettings, source: SideDatasets, target: SideDatasets) -> dict[str, JsonValue]:
    """What decides a partitioned graph besides its vectors: the codebook that is given or trained, and the keys."""
    from pipelines.graph.partition_plan import MemoryBounds

    dim = source.corpus.manifest.request.configuration["dim"]
    assert isinstance(dim, int)
    bounds = MemoryBounds.of((source.rows, target.rows), dim, settings.memory)
    if settings.codebook is None:
        return {"training_rows": bounds.training_rows, "key_bytes": bounds.key_bytes}
    return {"codebook": _codebook_hash(settings, source.corpus), "key_bytes": bounds.key_bytes}


def _codebook_hash(settings: GraphSettings, vectors: Dataset) -> str:
    """Of a codebook that fits the vectors."""
    from pipelines.graph.partition_plan import given_codebook

    about = vectors.manifest.request.configuration
    assert settings.codebook is not None and isinstance(about["dim"], int)
    return fingerprint(given_codebook(settings.codebook, str(about["encoder"]), about["dim"]).tobytes())


def fitting_search(rows: int, columns: int) -> Search:
    return "exact" if rows * columns <= EXACT_LIMIT else "partitioned"


def with_search(settings: GraphSettings) -> GraphSettings:
    """The settings with the search that `auto` stands for."""
    if settings.search != "auto":
        return settings
    rows = (open_side(folders, "vectors").rows for folders in (settings.source, settings.target))
    return settings.model_copy(update={"search": fitting_search(*rows)})


def _require_same_encoder(vectors: list[Dataset]) -> None:
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
        return GridPlan(Work(work.url, work.manifest.request), (), (), 1, "")
    source, target = (open_side(folders, "vectors") for folders in (settings.source, settings.target))
    about = source.corpus.manifest.request.configuration
    dim = about["dim"]
    assert isinstance(dim, int)
    return GridPlan(work, vector_shards(source), vector_shards(target), dim, str(about["encoder"]))


def plan_for(plan: GridPlan, search: Search, settings: GraphSettings) -> GridPlan:
    """The plan, with nothing to do where the settings come to another search."""
    return plan if with_search(settings).search == search else replace(plan, source=(), target=())


def partition_of(plan: GridPlan, settings: GraphSettings) -> Partition:
    from pipelines.graph.partition_plan import Partition
    from pipelines.graph.planted_pairs import planted_pairs

    begun = bool(plan.source or plan.target)  # else it is complete
    sides = [open_side(folders, "vectors") for folders in (settings.source, settings.target)] if begun else []
    return Partition(
        work=plan.work,
        source=plan.source,
        target=plan.target,
        k=settings.k,
        dim=plan.dim,
        encoder=plan.encoder,
        memory=settings.memory,
        copies=settings.copies,
        codebook=settings.codebook,
        threads=settings.threads,
        probes=planted_pairs(*sides) if begun else (),
    )


def panels_of(plan: GridPlan, settings: GraphSettings) -> list[GridPanel]:
    return panels(plan.work.url, plan.source, plan.target, plan.dim, settings)


def both_rows(panel: GridPanel) -> list[Row]:
    """The row of panels and the column that a panel is of."""
    return [("forward", panel.row), ("backward", panel.column)]


def write_row(item: tuple[Row, list[GridPanel]], settings: GraphSettings, plan: GridPlan) -> list[MergedShard]:
    """Merge a row or column of panels into the Parquet files of its shards, unless they are there already."""
    (direction, _), given = item
    shards = given[0].shards(direction)
    done = [finished_shard(plan.work, direction, shard.number) for shard in shards]
    if all(done):
        return [shard for shard in done if shard is not None]
    return [
        _write_found(plan, direction, shard, found, SampleCheck())
        for shard, found in merge_panels(given, direction, settings.k)
    ]


def _write_found(
    plan: GridPlan, direction: Direction, shard: VectorShard, found: Neighbours, check: SampleCheck
) -> MergedShard:
    index = shard.number if direction == "forward" else shard.number + len(plan.source)
    return write_shard(plan.work, direction, shard.number, index, opened(shard).ids, found, check)


def search_whole(plan: GridPlan, settings: GraphSettings) -> list[MergedShard]:
    """The approximate graph, by one FAISS index of each side on one machine."""
    if not plan.source and not plan.target:  # it is complete
        return []
    sides = whole_side(plan.source), whole_side(plan.target)
    graph, *searched = approximate_graph(
        *sides, settings.k, memory=settings.memory, device=settings.device, threads=settings.threads
    )
    written = []
    for direction, shards, found, how in zip(DIRECTIONS, (plan.source, plan.target), graph, searched, strict=True):
        first = 0
        for shard in shards:
            own = slice(first, first + shard.rows)
            check = SampleCheck.of(*how.sample) if not first else SampleCheck()  # it is of the whole side
            written.append(_write_found(plan, direction, shard, Neighbours(found.ids[own], found.scores[own]), check))
            first += shard.rows
    return written


def complete(merged: list[MergedShard], settings: GraphSettings) -> list[Shard]:
    work = start(settings)
    if isinstance(work, Dataset):
        return work.shards
    return complete_graph(work, merged, _search_measures(work, with_search(settings)))


def _search_measures(work: Work, settings: GraphSettings) -> dict[str, float]:
    if settings.search != "partitioned":
        return {}
    from pipelines.graph.partition_plan import codebook_of
    from pipelines.graph.recall_sample import choose_copies

    partition = partition_of(make_plan(settings), settings)
    chosen = choose_copies(partition)
    measures = {"cells": float(len(codebook_of(partition))), "copies": float(chosen.copies)}
    if chosen.probes:
        return measures | {"probe_pairs": float(chosen.probes), "probe_pairs_met": chosen.pairs}
    return measures | {"likely_pairs_met": chosen.pairs}


def _watch(plan: GridPlan, settings: GraphSettings) -> Watch:
    if settings.search == "partitioned":
        from pipelines.graph.partition import progress

        return partial(progress, partition_of(plan, settings))
    return _watch_grid(plan, settings)


def _watch_grid(plan: GridPlan, settings: GraphSettings) -> Watch:
    """Progress by panels on disk, and what is noted of those that are not whole."""
    grid = {panel.name: panel.comparisons for panel in panels_of(plan, settings)}
    columns = sum(shard.rows for shard in plan.target)
    filesystem, path = resolve(plan.work.scratch("panels"))
    seen: set[str] = set()  # the files are cleared away when the graph is complete

    def state() -> list[Phase]:
        filesystem.invalidate_cache()
        names = filesystem.ls(path, detail=False) if filesystem.isdir(path) else []
        seen.update(name for name in grid if any(found.endswith(f"{name}-backward.npz") for found in names))
        begun = (read_model(progress_url(plan.work.url, name), PanelNote) for name in _begun(plan.work) - seen)
        done = sum(grid[name] for name in seen) + sum(note.comparisons for note in begun if note is not None)
        return [Phase("graph", len(seen), len(grid), done // max(columns, 1), "panels")]

    return state


def _begun(work: Work) -> set[str]:
    """The panels of which progress is noted."""
    filesystem, path = resolve(work.scratch("progress"))
    names = filesystem.ls(path, detail=False) if filesystem.isdir(path) else []
    return {name.rpartition("/")[2].removesuffix(".json") for name in names if name.endswith(".json")}
