"""What a mine of this many lines takes, stage by stage, from what small ones took.

Prepare, embed and mine grow as their rows and shards, which small mines tell apart. The exact graph grows as the
product of its sides, a partitioned one as its rows: comparisons inside of cells, and with the centroids that rows are
assigned to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from mining.approximate import EXACT_LIMIT, plan_index
from mining.cell import SLACK
from mining.codebook import cell_count
from mining.errors import InputError
from mining.knn import plan_cells
from mining.threads import core_count
from pipelines.mine.candidate_ends import ROWS as RANGE_ROWS
from pipelines.mine.memory_budget import EDGE_BYTES, MOST_SCORES, SCORE_BYTES, memory_shares
from pipelines.mine.word_texts import MOST_WORDS
from pipelines.planning.calibrated_machine import Calibrated
from pipelines.planning.gpu_rates import GpuRates
from pipelines.planning.index_rates import IndexComparisons, index_comparisons
from pipelines.planning.partition_costs import one_process_bytes, partition_cost, trained_rows
from pipelines.planning.plan_settings import PlanSettings, Prices
from pipelines.planning.sample_runs import STAGES, MeasuredRun
from pipelines.prepare.duplicates import BYTES_PER_ROW
from pipelines.prepare.prepare_settings import PrepareSettings

_OPENS_A_BLOCK = 6  # of text: read, its rows, hashes and note written, hashes and rows read again
_EMBED_COPIES = 4  # of a shard's vectors: what a shard takes, with its tokens
_SECONDS_AN_EDGE = 4e-7  # of greedy matching by one worker: 6e-8 of work, and 50 bytes to and from a store at 150 MB/s
_CANDIDATES = 1.6  # of a target for each of its k neighbours: those that it found, and others that found it
_TEXT_BYTES = 16  # of a text besides itself: its id and its end
_OPENS_A_RANGE = 3
_WORD_BYTES = 700  # of a word that pair scoring remembers: 128 float32, and room to grow
_GB = 1e9
_BLOCK_BYTES = PrepareSettings.model_fields["block_mb"].default * 2**20


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
    gpu_hours: float = 0.0
    gpu_parallel: int = 1  # work items that GPUs can work on at the same time

    def hours(self, workers: int, gpus: int = 1) -> float:
        by_cores = self.core_hours / max(1, min(workers, self.parallel))
        return max(by_cores, self.gpu_hours / max(1, min(gpus, self.gpu_parallel)))


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
    gpu: GpuRates | None = None

    def money(self, prices: Prices) -> float:
        cores = sum(stage.core_hours for stage in self.stages) * prices.core_hour
        if self.gpu is not None:
            cores += sum(stage.gpu_hours for stage in self.stages) * self.gpu.price
        shuffled = sum(stage.shuffled for stage in self.stages) / _GB * prices.shuffled_gb
        stored = sum(stage.written for stage in self.stages) / _GB * prices.stored_gb_month
        return cores + shuffled + stored + sum(stage.objects for stage in self.stages) / 1000 * prices.thousand_requests

    def hours(self, workers: int, gpus: int = 1) -> float:
        return sum(stage.hours(workers, gpus) for stage in self.stages)

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
    stages[0] = stages[0]._replace(core_hours=prepare_seconds(sides, found) / 3600)
    stages[1] = stages[1]._replace(core_hours=embed_seconds(sides, found) / 3600)
    blocks = sum(
        math.ceil(count * size / _BLOCK_BYTES) - 1 for count, size in zip(lines, found.line_bytes, strict=True)
    )
    stages[0] = stages[0]._replace(objects=stages[0].objects + _OPENS_A_BLOCK * blocks)
    if found.gpu is not None:
        stages[1] = _embedded_by(found.gpu, stages[1], sum(sides), found)
    stages[2] = _graph(stages[2], sides, shards, search, found, settings)
    if found.rescored:
        stages[3] = _rescored(stages[3], sides, found, settings)
    return CostPlan(lines, search, stages, _limits(sides, stages, search, found, settings, free_disk), found.gpu)


def _embedded_by(gpu: GpuRates, stage: StageCost, rows: float, found: Calibrated) -> StageCost:
    """On a GPU, which a core waits for; the encoder is loaded, and vectors are written, as without one."""
    seconds = rows / gpu.sentences
    loaded = found.warm.stages["embed"].seconds
    return stage._replace(
        core_hours=(loaded + seconds + stage.written * found.kernels.read) / 3600,
        gpu_hours=seconds / 3600,
        gpu_parallel=stage.parallel,
    )


def _linear(stage: str, rows: float, shards: float, found: Calibrated, settings: PlanSettings) -> StageCost:
    """What grows by row and by shard."""
    small, wide, large, whole = (run.stages[stage] for run in (found.small, found.wide, found.large, found.whole))

    def grown(quantity: Callable[[MeasuredRun], float]) -> float:
        of_row = max(quantity(wide) - quantity(small), 0.0) / max(found.wide.rows - found.small.rows, 1)
        of_shard = max(quantity(large) - quantity(wide), 0.0) / max(2 * (found.large.shards - found.wide.shards), 1)
        start = quantity(wide) - of_row * found.wide.rows - of_shard * 2 * found.wide.shards
        return max(start, 0.0) + of_row * rows + of_shard * shards

    return StageCost(
        stage,
        core_hours=_seconds(stage, rows, found) / 3600,
        read=grown(lambda run: run.files.read),
        written=grown(lambda run: run.files.written),
        shuffled=grown(lambda run: run.files.shuffled),
        objects=grown(lambda run: run.files.opens),
        parallel=int(shards),
        memory=whole.memory + _more_memory(stage, rows, found, settings),
    )


def _seconds(stage: str, rows: float, found: Calibrated) -> float:
    """What a first shard of each side takes with all that is loaded, and so much for each further row."""
    few, many = found.small.stages[stage].seconds, found.again.stages[stage].seconds
    of_row = max(many - few, 0.0) / max(found.again.rows - found.small.rows, 1)
    first, loaded = (run.stages[stage].seconds for run in (found.whole, found.warm))
    return max(first + of_row * (rows - found.whole.rows), loaded)


def prepare_seconds(sides: tuple[float, float], found: Calibrated) -> float:
    """As other stages of words that are known, and so much for each that is new."""
    few, many, first, loaded = (run.stages["prepare"] for run in (found.small, found.again, found.whole, found.warm))
    of_row = max(many.known_seconds - few.known_seconds, 0.0) / max(found.again.rows - found.small.rows, 1)
    of_word = first.met.seconds / max(first.met.words, 1)
    words = sum(growth.new_words(rows) for growth, rows in zip(found.growth, sides, strict=True))
    known = first.known_seconds + of_row * (sum(sides) - found.whole.rows)
    return max(known + of_word * words, loaded.seconds)


def embed_seconds(sides: tuple[float, float], found: Calibrated) -> float:
    """The encoder is loaded for each side, and so much for each of its sentences."""
    rows = sum(rate * rows for rate, rows in zip(found.embed_rows, sides, strict=True))
    return found.warm.stages["embed"].seconds + rows


def _more_memory(stage: str, rows: float, found: Calibrated, settings: PlanSettings) -> float:
    """What a worker has besides what it had of a shard of each side."""
    return max(_memory(stage, rows, found.dim, settings) - _memory(stage, found.whole.rows, found.dim, settings), 0.0)


def _memory(stage: str, rows: float, dim: int, settings: PlanSettings) -> float:
    """What grows with the rows, up to a bound."""
    shares = memory_shares(settings.memory)
    match stage:
        case "prepare":
            return min(rows / 2 * BYTES_PER_ROW, shares.duplicates_mb << 20)
        case "embed":
            return min(rows / 2, settings.rows_per_shard) * 4 * dim * _EMBED_COPIES
        case "mine":
            return min(rows, shares.edges) * EDGE_BYTES + rows / 4 + min(rows / 2, MOST_SCORES) * SCORE_BYTES
    return 0.0


def _rescored(stage: StageCost, sides: tuple[float, float], found: Calibrated, settings: PlanSettings) -> StageCost:
    """With what the ranges of ids add, of which a small mine has only one: each file of candidates is written, marked
    and spread, and the text of a target goes to every range that has a candidate for it."""
    of_source, of_target = (max(1.0, -(-side // RANGE_ROWS)) for side in sides)
    reached = of_source * (1 - (1 - 1 / of_source) ** (_CANDIDATES * settings.k))
    texts = sides[1] * (found.line_bytes[1] + _TEXT_BYTES) * (reached - 1)
    words, known = (_words_remembered(some, found) for some in (sides, (found.whole.rows / 2,) * 2))
    return stage._replace(
        shuffled=stage.shuffled + texts,
        objects=stage.objects + _OPENS_A_RANGE * (of_target - 1),
        memory=stage.memory + max(words - known, 0.0) * _WORD_BYTES,
    )


def _words_remembered(sides: tuple[float, float], found: Calibrated) -> float:
    return min(sum(growth.new_words(rows) for growth, rows in zip(found.growth, sides, strict=True)), 2 * MOST_WORDS)


def _graph(
    stage: StageCost,
    sides: tuple[float, float],
    shards: float,
    search: str,
    found: Calibrated,
    settings: PlanSettings,
) -> StageCost:
    loading = max(found.whole.stages["graph"].seconds - found.again.stages["graph"].seconds, 0.0)
    begun = found.whole.stages["graph"].begun
    if search == "exact":
        return _exact_graph(stage._replace(memory=begun), sides, loading, found, settings)
    if search == "approximate":
        return _approximate_graph(stage._replace(memory=begun), sides, loading, found, settings)
    cost = partition_cost(sides, shards, found.dim, found.kernels, settings)
    # An exact graph of one panel reads the vectors once, and writes the neighbours into one file for each side.
    shard_bytes = stage.written - 12 * settings.k * sum(sides)
    return stage._replace(
        core_hours=(loading + cost.seconds) / 3600,
        read=cost.read,
        written=cost.written + shard_bytes,
        shuffled=cost.shuffled,
        objects=cost.opens,
        parallel=int(cost.keys),
        memory=begun + cost.memory,
    )


def _exact_graph(
    stage: StageCost, sides: tuple[float, float], loading: float, found: Calibrated, settings: PlanSettings
) -> StageCost:
    panel = min(settings.memory / 4 / (24 * settings.k), (5e13 / found.dim) ** 0.5)
    rows, columns = (max(1.0, -(-side // max(panel, settings.rows_per_shard))) for side in sides)
    more = sides[0] * (columns - 1) + sides[1] * (rows - 1)  # rows that further panels read again
    lists = 12 * settings.k * more
    return stage._replace(
        core_hours=(loading + exact_seconds(sides, found)) / 3600,
        gpu_hours=0.0 if found.gpu is None else sides[0] * sides[1] / found.gpu.comparisons / 3600,
        gpu_parallel=int(rows * columns),
        read=stage.read + 4 * found.dim * more + lists,
        written=stage.written + lists,
        objects=stage.objects + 2 * (rows * columns - 1),
        parallel=max(1, int(sides[0] * sides[1] / 1e9)),  # the threads of a worker share a panel
        memory=stage.memory
        + 24 * settings.k * sum(min(side, panel) for side in sides)
        + _cell_memory(sides, found, settings),
    )


def _cell_memory(sides: tuple[float, float], found: Calibrated, settings: PlanSettings) -> float:
    """Of two shards that are compared: floats of a panel of targets, and the lists of both; see `knn.plan_cells`."""
    rows, columns = (int(min(side, settings.rows_per_shard)) for side in sides)
    threads = core_count()
    plan = plan_cells(rows, columns, found.dim, settings.k, settings.memory, threads)
    lists = 16 * (settings.k + SLACK)
    return plan.target_panel * (8 * found.dim + (threads + 2) * lists) + plan.source_panel * (lists + 40 * settings.k)


def exact_seconds(sides: tuple[float, float], found: Calibrated) -> float:
    """Of one core: so much a comparison, also where it waits for a GPU that makes them, and so much a row."""
    pace = found.kernels.exact if found.gpu is None else found.gpu.comparisons
    return sides[0] * sides[1] / pace + _exact_row_seconds(found) * sum(sides)


def _exact_row_seconds(found: Calibrated) -> float:
    """What the small graph took besides its comparisons, for each of its rows."""
    rows, taken = found.small.rows / 2, found.small.stages["graph"].seconds
    return max(taken - rows**2 / found.kernels.exact, 0.0) / (2 * rows)


def _approximate_graph(
    stage: StageCost, sides: tuple[float, float], loading: float, found: Calibrated, settings: PlanSettings
) -> StageCost:
    """By one index of each side, on one machine: its training, its filling, and the lists that are searched."""
    memory = _index_memory(sides, found, settings)
    compared = [_index_comparisons(x, y, memory, found, settings) for x, y in (sides, sides[::-1])]
    by_gpu = 0.0 if found.gpu is None else sum(map(sum, compared)) / found.gpu.comparisons
    by_cores = by_gpu if found.gpu is not None else sum(_index_seconds(side, found) for side in compared)
    return stage._replace(
        core_hours=(loading + by_cores + _exact_row_seconds(found) * sum(sides)) / 3600,
        gpu_hours=by_gpu / 3600,
        parallel=core_count(),
        memory=stage.memory + min(2 * _index_bytes(sides, memory, found, settings), memory),
    )


def _index_bytes(sides: tuple[float, float], memory: int, found: Calibrated, settings: PlanSettings) -> float:
    """Of the larger index: whole vectors, or as many bytes as it has pieces (PQ64)."""
    rows, others = max(sides), min(sides)
    stored = plan_index(int(others), int(rows), found.dim, settings.k, memory).kind.rpartition(",")[2]
    return rows * (8 + (4 * found.dim if stored == "Flat" else int(stored.removeprefix("PQ"))))


def _index_memory(sides: tuple[float, float], found: Calibrated, settings: PlanSettings) -> int:
    """As often twice the memory of the settings as an index of either side takes."""
    for doubled in range(64):
        memory = settings.memory << doubled
        with suppress(InputError):
            for queries, rows in (sides, sides[::-1]):
                plan_index(int(queries), int(rows), found.dim, settings.k, memory)
            return memory
    raise AssertionError("no corpus is that large")


def _index_comparisons(
    queries: float, rows: float, memory: int, found: Calibrated, settings: PlanSettings
) -> IndexComparisons:
    plan = plan_index(int(queries), int(rows), found.dim, settings.k, memory)
    return index_comparisons(plan, queries, rows, on_gpu=found.gpu is not None)


def _index_seconds(compared: IndexComparisons, found: Calibrated) -> float:
    """Of one core, which has no GPU beside it."""
    assert found.index_rates is not None, "it is measured where an approximate search is planned"
    return compared.products / found.index_rates.products + compared.listed / found.index_rates.listed


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
    elif search == "approximate":
        needed = _index_memory(sides, found, settings)
        advice = "raise --memory, or --search partitioned"
        limits.append(Limit("memory of an approximate search", needed, settings.memory, advice))
        if found.gpu is not None:
            index, advice = _index_bytes(sides, needed, found, settings), "a larger GPU, or --search partitioned"
            limits.append(Limit("memory of the GPU", index, found.gpu.memory, advice))
    else:
        one = rows * one_process_bytes(settings.k, settings.planned_copies)
        limits.append(
            Limit("memory of a search in one process", one, settings.memory, "raise --memory, or use a cluster")
        )
        cells, trained = cell_count(int(sides[0]), int(sides[1])), trained_rows(sides, found.dim, settings)
        advice = "raise --memory, or mine the corpora in parts: fewer cells are larger ones"
        limits.append(Limit("vectors that the codebook's cells begin with", cells, trained, advice))
    matching = _memory("mine", rows, found.dim, settings)
    limits.append(Limit("memory of matching", matching, settings.memory, "raise --memory"))
    edges = _CANDIDATES * settings.k * sides[1] if found.rescored else rows  # by margin each row puts its best
    one_worker = edges * _SECONDS_AN_EDGE / 3600
    limits.append(Limit("hours of the one worker that matches", one_worker, 24.0, "mine the corpora in parts"))
    return limits
