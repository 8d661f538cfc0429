"""What a mine of this many lines takes, stage by stage, from what small ones took.

Prepare, embed and mine grow as their rows and shards. The exact graph grows as the product of its sides, a partitioned
one as its rows: comparisons inside of cells, and with the centroids that rows are assigned to.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mining.approximate import EXACT_LIMIT
from mining.codebook import ALL_CELLS, ITERATIONS, SAMPLE_A_CELL, cell_count
from pipelines.graph.recall_sample import MOST_SAMPLE
from pipelines.mine.memory_budget import memory_shares
from pipelines.mine.rescored_graph import MOST_ROWS
from pipelines.planning.plan_settings import PlanSettings, Prices
from pipelines.planning.sample_runs import STAGES, Calibrated

_CELL_COMPARISONS = 190  # of each row, times the square of its copies: docs/results.md, Partitioned search
_KEYS_A_ROW = 0.58  # keys that a row is sent to, for each copy: cells near each other share keys
_LINKED = 6.0  # times the work of comparing with 8,192 centroids: finding the nearest of any number through HNSW
_SHUFFLED_HASH = 14.0  # bytes of a sentence's hash and row, and of its row again where it is a duplicate
_SHUFFLED_EDGE = 27.0  # bytes, with its share of what surrounds it
_SECONDS_AN_EDGE = 4e-7  # of greedy matching by one worker: 6e-8 of work, and 50 bytes to and from a store at 150 MB/s
_GB = 1e9


class StageCost(NamedTuple):
    """What one stage takes."""

    stage: str
    core_hours: float
    read: float  # bytes
    written: float
    shuffled: float
    objects: float
    parallel: int  # work items that can be worked on at the same time
    memory: float  # bytes of the largest worker

    def hours(self, workers: int) -> float:
        return self.core_hours / max(1, min(workers, self.parallel))


class Limit(NamedTuple):
    """Something that ends: how much of it this mine takes, and what to do."""

    name: str
    needed: float
    available: float
    advice: str

    @property
    def share(self) -> float:
        return self.needed / self.available if self.available else math.inf


class CostPlan(NamedTuple):
    """The bill of a mine."""

    lines: tuple[int, int]
    search: str
    stages: list[StageCost]
    limits: list[Limit]  # in the order in which a run comes to them

    def money(self, prices: Prices) -> float:
        cores = sum(stage.core_hours for stage in self.stages) * prices.core_hour
        shuffled = sum(stage.shuffled for stage in self.stages) / _GB * prices.shuffled_gb
        stored = sum(stage.written for stage in self.stages) / _GB * prices.stored_gb_month
        return cores + shuffled + stored + sum(stage.objects for stage in self.stages) / 1000 * prices.thousand_requests

    def hours(self, workers: int) -> float:
        return sum(stage.hours(workers) for stage in self.stages)

    @property
    def first_limit(self) -> Limit:
        """The first that breaks; where none does, the one that is nearest to it."""
        broken = [limit for limit in self.limits if limit.share > 1]
        return broken[0] if broken else max(self.limits, key=lambda limit: limit.share)


def predict(lines: tuple[int, int], found: Calibrated, settings: PlanSettings, free_disk: float) -> CostPlan:
    """The plan of a mine of this many lines a side."""
    kept = found.large.rows / max(found.large.lines, 1)
    sides = lines[0] * kept, lines[1] * kept
    search = settings.search
    if search == "auto":
        search = "exact" if sides[0] * sides[1] <= EXACT_LIMIT else "partitioned"
    shards = sum(-(-side // settings.rows_per_shard) for side in sides)
    stages = [_linear(stage, sum(sides), shards, found, settings) for stage in STAGES]
    stages[2] = _graph(stages[2], sides, search, found, settings)
    return CostPlan(lines, search, stages, _limits(sides, stages, search, found, settings, free_disk))


def _linear(stage: str, rows: float, shards: float, found: Calibrated, settings: PlanSettings) -> StageCost:
    """Seconds and bytes by row, files by shard: the larger of the two runs has four times both."""
    small, large = found.small, found.large
    more_rows, more_shards = large.rows - small.rows, 2 * (large.shards - small.shards)

    def grown(low: float, high: float, more: float, measure: float, amount: float) -> float:
        rate = max(high - low, 0.0) / max(more, 1)
        return max(high + rate * (amount - measure), 0.0)

    before, after = small.stages[stage], large.stages[stage]
    seconds = grown(before.seconds, after.seconds, more_rows, large.rows, rows)
    if stage == "graph":  # its own model adds the comparisons
        seconds = 0.0
    read, written = (
        grown(getattr(before.files, name), getattr(after.files, name), more_rows, large.rows, rows)
        for name in ("read", "written")
    )
    opened = grown(before.files.opens, after.files.opens, more_shards, 2 * large.shards, shards)
    memory = {"prepare": memory_shares(settings.memory).duplicates_mb << 20, "embed": 1 << 30, "graph": settings.memory}
    edges = min(rows, memory_shares(settings.memory).edges) * 200 + rows / 4 + min(rows / 2, 1 << 24) * 75
    sent = {"prepare": rows * _SHUFFLED_HASH, "mine": rows * _SHUFFLED_EDGE + rows / 2 * 2 * found.line_bytes}
    hours = seconds / 3600
    return StageCost(stage, hours, read, written, sent.get(stage, 0.0), opened, int(shards), memory.get(stage, edges))


def _graph(
    stage: StageCost, sides: tuple[float, float], search: str, found: Calibrated, settings: PlanSettings
) -> StageCost:
    vectors = sum(sides) * (4 * found.dim + 8)
    if search == "exact":
        comparisons = sides[0] * sides[1]
        panel = min(settings.memory / 4 / (24 * settings.k), (5e13 / found.dim) ** 0.5)
        rows, columns = (max(1.0, -(-side // max(panel, settings.rows_per_shard))) for side in sides)
        lists = 12 * settings.k * (sides[0] * columns + sides[1] * rows)
        return stage._replace(
            core_hours=comparisons / found.kernels.exact / 3600,
            read=found.dim * 4 * (sides[0] * columns + sides[1] * rows) + lists,
            written=lists + sum(sides) * 9 * settings.k,
            objects=stage.objects + 2 * rows * columns,
            parallel=max(1, int(comparisons / 1e9)),  # the threads of a worker share a panel
        )
    rows, cells = sum(sides), cell_count(int(sides[0]), int(sides[1]))
    inside = sides[0] * _CELL_COMPARISONS * settings.copies**2 * _growth(sides)
    assigned = (rows + ITERATIONS * min(SAMPLE_A_CELL * cells, MOST_SAMPLE)) * _centroid_work(cells)
    truth = 1000 * rows
    seconds = inside / found.kernels.cells + assigned / found.kernels.centroids + truth / found.kernels.exact
    sent = vectors * _KEYS_A_ROW * settings.copies
    return stage._replace(
        core_hours=seconds / 3600,
        read=3 * vectors,
        written=rows * (4 * settings.copies + 9 * settings.k),
        shuffled=sent + rows * 12 * settings.k * _KEYS_A_ROW * settings.copies,
        parallel=max(1, int(sent / (256 << 20))),
        memory=max(4 * (256 << 20), 8 * found.dim * cells),
    )


def _growth(sides: tuple[float, float]) -> float:
    """Cells are the less even the more there are: 4% more comparisons with each doubling, from 250,000 rows on."""
    return float(max(1.0, 1 + 0.04 * math.log2(max(min(sides), 1) / 250_000)))


def _centroid_work(cells: int) -> float:
    return cells if cells <= ALL_CELLS else ALL_CELLS * _LINKED


def _limits(
    sides: tuple[float, float],
    stages: list[StageCost],
    search: str,
    found: Calibrated,
    settings: PlanSettings,
    free_disk: float,
) -> list[Limit]:
    rows = sum(sides)
    written = sum(stage.written for stage in stages)
    limits = [Limit("free disk", written, free_disk, "give a work folder with more room, or a store")]
    if search == "exact":
        limits.append(Limit("comparisons of an exact search", sides[0] * sides[1], EXACT_LIMIT, "--search partitioned"))
    else:
        one = rows * (12 * settings.k + 16 * settings.copies + 24)
        limits.append(
            Limit("memory of a search in one process", one, settings.memory, "raise --memory, or use a cluster")
        )
        sample = 4 * found.dim * min(SAMPLE_A_CELL * cell_count(int(sides[0]), int(sides[1])), MOST_SAMPLE)
        limits.append(Limit("memory for the codebook's sample", sample, settings.memory, "raise --memory or reuse one"))
    limits.append(Limit("sentences that are scored again", rows, MOST_ROWS, "larger graphs keep their margins"))
    limits.append(Limit("memory of matching", stages[3].memory, settings.memory, "raise --memory"))
    one_worker = rows * _SECONDS_AN_EDGE / 3600
    limits.append(Limit("hours of the one worker that matches", one_worker, 24.0, "mine the corpora in parts"))
    return limits
