"""Small mines on this machine, whose stages are measured one by one: processor time and counted files."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mining.codebook import Codebook
from mining.knn import knn_graph
from mining.partitioned import key_graph
from mining.threads import thread_pool
from mining.vectors import from_array, open_vectors
from pipelines.datasets.manifest import Dataset, open_dataset
from pipelines.datasets.side_folders import SideFolders
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.vector_stage import embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_stage import mine
from pipelines.planning.counted_files import PROTOCOL, Traffic, traffic
from pipelines.planning.plan_settings import PlanSettings
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import RunnerSettings

STAGES = ("prepare", "embed", "graph", "mine")
_LARGER = 4  # times the rows and shards of the small run
_COMPARED = 6000  # vectors of a side that kernels are timed on
_CELL_ROWS = 1024  # a cell of 128 rows a side, with 8 copies of each
_WORDS = 5000


class MeasuredRun(NamedTuple):
    """What a stage took."""

    seconds: float
    files: Traffic


class SampleRun(NamedTuple):
    """A small mine: lines, shards of a side, sentences and pairs that were left, and what each stage took."""

    lines: int
    shards: int
    rows: int
    pairs: int
    stages: dict[str, MeasuredRun]


class Kernels(NamedTuple):
    """Comparisons in a second of one core."""

    exact: float
    cells: float
    centroids: float


class Calibrated(NamedTuple):
    """All that the plan rests on."""

    small: SampleRun
    large: SampleRun
    kernels: Kernels
    dim: int
    line_bytes: float


def calibrate_machine(
    settings: PlanSettings, texts: Sequence[Sequence[str]], langs: Sequence[str | None]
) -> Calibrated:
    """Two mines of the texts, one four times the other, and the kernels on their vectors."""
    with tempfile.TemporaryDirectory(prefix="twinlode-plan-") as folder:
        rows = settings.sample // _LARGER
        _run(Path(folder) / "warm", settings, [side[:200] for side in texts], langs, 200)  # compiles what is compiled
        small = _run(Path(folder) / "small", settings, [side[:rows] for side in texts], langs, rows)
        large = _run(Path(folder) / "large", settings, texts, langs, rows)
        vectors = [open_dataset(f"{folder}/large/{side}-vectors", "vectors") for side in ("src", "tgt")]
        kernels, dim = _kernels(vectors, settings.k)
    size = sum(len(line.encode()) + 1 for side in texts for line in side)
    return Calibrated(small, large, kernels, dim, size / max(sum(map(len, texts)), 1))


def _run(
    folder: Path, settings: PlanSettings, texts: Sequence[Sequence[str]], langs: Sequence[str | None], rows: int
) -> SampleRun:
    """A mine whose files are counted, in this process."""
    folder.mkdir()
    stages = dict.fromkeys(STAGES, MeasuredRun(0.0, Traffic()))
    url, alone, encoder = f"{PROTOCOL}://{folder}", RunnerSettings(processes=1), settings.encoder
    sentences: list[Dataset] = []
    for name, lines, lang in zip(("src", "tgt"), texts, langs, strict=True):
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        asked = PrepareSettings(
            inputs=[f"{url}/{name}.txt"],
            out=f"{url}/{name}",
            read=ReadSettings(lang=lang or "en"),
            lang_filter="detect" if lang else "assume",
            encoder=encoder,
            rows_per_shard=rows,
        )
        with _measured(stages, "prepare"):
            sentences.append(prepare(asked, alone))
        with _measured(stages, "embed"):
            embed(EmbedSettings(sentences=asked.out, out=f"{url}/{name}-vectors", encoder=encoder), alone)
    vectors = [SideFolders(corpus=f"{url}/{name}-vectors") for name in ("src", "tgt")]
    graph = GraphSettings(source=vectors[0], target=vectors[1], out=f"{url}/graph", k=settings.k)
    with _measured(stages, "graph"):
        build_graph(graph, alone)
    texts_of = [SideFolders(corpus=f"{url}/{name}") for name in ("src", "tgt")]
    chosen = MineSettings(
        graph=graph.out, source=texts_of[0], target=texts_of[1], out=f"{url}/pairs", rows_per_shard=rows
    )
    with _measured(stages, "mine"):
        pairs = mine(chosen, alone)
    kept = sum(dataset.rows for dataset in sentences)
    return SampleRun(sum(map(len, texts)), len(sentences[0].shards), kept, pairs.rows, stages)


@contextmanager
def _measured(stages: dict[str, MeasuredRun], stage: str) -> Iterator[None]:
    seconds, files = _processor_seconds(), traffic()
    yield
    before = stages[stage]
    files = traffic() - files
    total = Traffic(*(a + b for a, b in zip(before.files, files, strict=True)))
    stages[stage] = MeasuredRun(before.seconds + _processor_seconds() - seconds, total)


def _processor_seconds() -> float:
    return sum(os.times()[:4])


def _kernels(datasets: Sequence[Dataset], k: int) -> tuple[Kernels, int]:
    """On vectors of the sample, of which there are as many as it takes with a little noise."""
    draw = np.random.default_rng(0)
    sides = []
    for dataset in datasets:
        parts = [open_vectors(dataset.place(shard)).stored for shard in dataset.shards]
        rows = np.concatenate(parts)[draw.integers(0, sum(map(len, parts)), _COMPARED)].astype(np.float32)
        sides.append(from_array(rows + 0.02 * np.abs(rows).mean() * draw.standard_normal(rows.shape, np.float32)))
    cells = (np.arange(_COMPARED) // _CELL_ROWS).astype(np.int32)[:, None]
    codebook = Codebook(sides[0].unit(np.arange(2048)))
    with thread_pool(1) as pool:
        exact = _rate(lambda: knn_graph(sides[0], sides[1], k, threads=1), _COMPARED**2)
        inside = _rate(lambda: key_graph(sides[0], sides[1], cells, cells, k, pool), _COMPARED * _CELL_ROWS)
        assigned = _rate(lambda: codebook.nearest(sides[1].unit(np.arange(_COMPARED)), 8, pool), _COMPARED * 2048)
    return Kernels(exact, inside, assigned), sides[0].dim


def _rate(work: Callable[[], object], comparisons: int) -> float:
    """Comparisons a second, the second time: the first one compiles."""
    work()
    begun = _processor_seconds()
    work()
    return comparisons / max(_processor_seconds() - begun, 0.01)


def first_lines(urls: Sequence[str], count: int) -> list[str]:
    from mining.files import iterate_lines

    return list(islice((line for url in urls for line in iterate_lines(url) if line.strip()), count))


def made_up_lines(count: int, seed: int) -> list[str]:
    """Sentences of made-up words, where only numbers of lines are known."""
    draw = random.Random(seed)
    syllables = ["ba", "do", "ki", "len", "mar", "nu", "per", "ri", "sto", "ta", "ven", "zo"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(_WORDS)]
    return [f"{' '.join(draw.choices(words, k=draw.randint(5, 16)))} {number}" for number in range(count)]
