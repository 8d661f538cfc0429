"""This machine, measured by small mines of the text that a plan is of: all that the plan rests on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.datasets.manifest import open_dataset
from pipelines.graph.graph_settings import Search
from pipelines.mine.rescored_graph import rescoring_of
from pipelines.planning.counted_files import PROTOCOL
from pipelines.planning.gpu_rates import GpuRates, gpu_rates
from pipelines.planning.index_rates import IndexRates, measure_index
from pipelines.planning.kernel_rates import Kernels, measure_kernels, read_sample
from pipelines.planning.plan_settings import PlanSettings
from pipelines.planning.sample_runs import (
    SIDES,
    SampleRun,
    embed_row_seconds,
    run_by_new_process,
    run_stages,
    spread_evenly,
    write_text,
)
from pipelines.planning.word_growth import WordGrowth, measure_growth
from pipelines.prepare.pieces import has_subwords

_LARGER = 4  # times the rows of the next smaller run
_FEW = 200  # lines that are nothing beside what is loaded for them


class Calibrated(NamedTuple):
    """All that the plan rests on: small mines, of which two have the same rows and two the same shards."""

    warm: SampleRun  # of next to nothing, by a process that has loaded nothing yet
    whole: SampleRun  # of a shard as it is in large mines, by another such process, with a partitioned search
    again: SampleRun  # the same by a process that has loaded all and knows most words, as for further shards
    small: SampleRun  # one shard a side
    wide: SampleRun  # one shard of more rows
    large: SampleRun  # as many rows in more shards
    kernels: Kernels
    dim: int
    line_bytes: tuple[float, float]  # of each side
    growth: tuple[WordGrowth, WordGrowth]  # of each side's words
    embed_rows: tuple[float, float]  # seconds of one core for a further sentence of each side
    gpu: GpuRates | None = None
    index_rates: IndexRates | None = None  # where an approximate search is planned
    rescored: bool = False  # whether a classifier scores the candidates of these mines


def calibrate_machine(
    settings: PlanSettings,
    texts: Sequence[Sequence[str]],
    langs: Sequence[str | None],
    windows: Sequence[Sequence[Sequence[str]]],
) -> Calibrated:
    """Mines of the texts and of parts of them, and the kernels on their vectors.

    `windows` of consecutive lines tell how words grow, and what embedding them takes: a bag spells each word of a batch
    once, and lines from all over a text share fewer words than neighbours do.
    """

    def sample(
        name: str, lines: int, rows: int, run: Callable[..., SampleRun] = run_stages, search: Search = "exact"
    ) -> SampleRun:
        sides = []
        for side, of_side, lang in zip(SIDES, texts, langs, strict=True):
            sides.append(write_text(Path(folder) / f"{name}-{side}.txt", spread_evenly(of_side, lines), lang))
        return run(Path(folder) / name, settings.model_copy(update={"rows_per_shard": rows, "search": search}), sides)

    with tempfile.TemporaryDirectory(prefix="twinlode-plan-") as folder:
        lines = settings.sample // _LARGER
        rows = lines // _LARGER
        shard = settings.sample, settings.rows_per_shard
        # Loads what the runs below are measured without, also the words of the text, and finds what is wrong.
        sample("first", *shard, search="partitioned")
        warm = sample("warm", _FEW, _FEW, run_by_new_process)
        whole = sample("whole", *shard, run_by_new_process, "partitioned")
        again = sample("again", *shard, search="partitioned")
        small, wide, large = sample("small", rows, rows), sample("wide", lines, lines), sample("large", lines, rows)
        vectors = [open_dataset(f"{PROTOCOL}://{folder}/large/{side}-vectors", "vectors") for side in SIDES]
        read = read_sample(vectors)
        embed_rows = [_row_seconds("embed", small, again)] * 2
        if has_subwords(settings.encoder):  # else it takes so long that nothing else matters
            embed_rows = [
                embed_row_seconds(Path(folder) / f"near-{side}", settings, window, lang)
                for side, window, lang in zip(SIDES, windows, langs, strict=True)
            ]
    kernels = measure_kernels(read, settings)
    growth, other = (
        measure_growth(given, settings.encoder, lang or "en") for given, lang in zip(windows, langs, strict=True)
    )
    source, target = (sum(len(line.encode()) + 1 for line in side) / max(len(side), 1) for side in texts)
    rates = measure_index(read.units, settings.k) if settings.search == "approximate" else None
    found = Calibrated(
        *(warm, whole, again, small, wide, large),
        kernels=kernels,
        dim=read.dim,
        line_bytes=(source, target),
        growth=(growth, other),
        embed_rows=(embed_rows[0], embed_rows[1]),
        index_rates=rates,
        rescored=rescoring_of(settings.rescore, settings.encoder) is not None,
    )
    sentences = 2 / max(sum(found.embed_rows), 1e-9)
    gpu = gpu_rates(settings, [line for side in texts for line in side], read.units, sentences)
    return found._replace(gpu=gpu)


def _row_seconds(stage: str, small: SampleRun, large: SampleRun) -> float:
    """Of a sentence more."""
    few, many = small.stages[stage].seconds, large.stages[stage].seconds
    return max(many - few, 0.0) / max(large.rows - small.rows, 1)
