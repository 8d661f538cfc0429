"""Panels of the grid: some source shards against some target shards, with their neighbours so far in memory.

A panel leaves one file a direction, whatever the number of its shards, and opens each of these once. So at a given size
of panel what is opened and written grows as the shards, not as their square.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from mining.errors import InputError
from mining.files import atomic_writer
from mining.knn import choose_device, knn_graph, merge_into, plan_cells
from mining.neighbours import Neighbours, merge
from mining.paths import exists, open_url
from mining.proposals import is_little
from mining.threads import core_count
from pipelines.datasets.manifest import write_model
from pipelines.datasets.work import scratch
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import Direction
from pipelines.graph.vector_sides import VectorShard, opened_once

_PANEL_WORK = 5e13  # multiply-adds: some ten minutes on two cores, the most that a crash costs
_SHARE = 4  # of the memory, this part for the neighbours of a panel
_NOTE_SECONDS = 2.0


class GridPanel(NamedTuple):
    """A work item."""

    folder: str  # of the graph
    row: int
    column: int
    source: tuple[VectorShard, ...]
    target: tuple[VectorShard, ...]
    one_by_one: bool  # there is no memory for more than the neighbours of two shards

    @property
    def comparisons(self) -> int:
        return _rows(self.source) * _rows(self.target)

    def url(self, direction: Direction) -> str:
        return scratch(self.folder, "panels", f"{self.name}-{direction}.npz")

    @property
    def name(self) -> str:
        return f"{self.row:05d}-{self.column:05d}"

    def shards(self, direction: Direction) -> tuple[VectorShard, ...]:
        return self.source if direction == "forward" else self.target


class PanelNote(BaseModel):
    """How many comparisons of a panel are done, for the progress display."""

    comparisons: int


def progress_url(folder: str, panel: str) -> str:
    return scratch(folder, "progress", f"{panel}.json")


def panels(
    folder: str, source: Sequence[VectorShard], target: Sequence[VectorShard], dim: int, settings: GraphSettings
) -> list[GridPanel]:
    """The grid in panels whose neighbours fit the memory and whose work is bounded."""
    rows = _panel_rows(source, target, dim, settings)
    left, right = _cut(source, rows), _cut(target, rows)
    return [
        GridPanel(folder, row, column, some, others, rows == 0)
        for column, others in enumerate(right)
        for row, some in enumerate(left)
    ]


def _panel_rows(source: Sequence[VectorShard], target: Sequence[VectorShard], dim: int, settings: GraphSettings) -> int:
    """Rows of a panel's side, 0 for single shards: where the memory is short, one pair of them needs all of it."""
    left, right = (max((shard.rows for shard in side), default=0) for side in (source, target))
    rest = settings.memory - settings.memory // _SHARE
    try:
        plan_cells(left, right, dim, settings.k, rest, settings.threads or core_count())
    except InputError:
        return 0
    held = settings.memory // _SHARE // (2 * 12 * settings.k)
    return min(int(held), int((_PANEL_WORK / dim) ** 0.5))


def _cut(shards: Sequence[VectorShard], rows: int) -> list[tuple[VectorShard, ...]]:
    """Shards that follow each other, together at most this many rows, but at least one."""
    parts: list[list[VectorShard]] = []
    filled = 0
    for shard in shards:
        if parts and filled + shard.rows <= rows:
            parts[-1].append(shard)
            filled += shard.rows
        else:
            parts.append([shard])
            filled = shard.rows
    return [tuple(part) for part in parts]


def make_panel(panel: GridPanel, settings: GraphSettings) -> None:
    """Compute a panel and keep it; one that is there already is not computed again."""
    if exists(panel.url("forward")) and exists(panel.url("backward")):
        return
    memory = settings.memory if panel.one_by_one else settings.memory - settings.memory // _SHARE
    forward, backward = (Neighbours.none(_rows(side), settings.k) for side in (panel.source, panel.target))
    sources = [opened_once(shard) for shard in panel.source]
    done, noted = 0, time.monotonic()
    for shard, columns in zip(panel.target, _slices(panel.target), strict=True):
        target = opened_once(shard)
        for source, rows in zip(sources, _slices(panel.source), strict=True):
            device = choose_device(settings.device, little=is_little(source, target))
            found = knn_graph(source, target, settings.k, memory=memory, device=device, threads=settings.threads)
            merge_into(forward, rows, found.forward)
            merge_into(backward, columns, found.backward)
            done += len(source) * len(target)
            if time.monotonic() - noted > _NOTE_SECONDS:
                write_model(progress_url(panel.folder, panel.name), PanelNote(comparisons=done))
                noted = time.monotonic()
    _write(panel.url("forward"), forward)
    _write(panel.url("backward"), backward)


def merge_panels(panels: Sequence[GridPanel], direction: Direction, k: int) -> list[tuple[VectorShard, Neighbours]]:
    """The neighbours of each shard of a row or column of panels; memory is two panels."""
    whole: Neighbours | None = None
    for panel in panels:
        part = _read(panel.url(direction))
        whole = part if whole is None else merge([whole, part], k)
    assert whole is not None
    shards = panels[0].shards(direction)
    return [
        (shard, Neighbours(whole.ids[own], whole.scores[own]))
        for shard, own in zip(shards, _slices(shards), strict=True)
    ]


def _slices(shards: Sequence[VectorShard]) -> list[slice]:
    ends = list(accumulate(shard.rows for shard in shards))
    return [slice(end - shard.rows, end) for shard, end in zip(shards, ends, strict=True)]


def _rows(shards: Sequence[VectorShard]) -> int:
    return sum(shard.rows for shard in shards)


def _write(url: str, found: Neighbours) -> None:
    with atomic_writer(url) as stream:
        np.savez(stream, allow_pickle=False, ids=found.ids, scores=found.scores)


def _read(url: str) -> Neighbours:
    with open_url(url) as stream, np.load(stream, allow_pickle=False) as saved:
        return Neighbours(saved["ids"], saved["scores"])
