"""Held-out scores of a round, and the files that nothing may be trained on because of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from mining.errors import InputError
from mining.files import atomic_text
from mining.paths import matching
from pipelines.evaluation.benchmark import Benchmark, evaluate
from pipelines.evaluation.bucc import Bucc
from pipelines.evaluation.finished_rows import Column, no_such_score
from pipelines.evaluation.sources import load_source
from pipelines.loop.loop_settings import PROBES, LoopSettings

METRICS = "metrics.json"
Scores = dict[str, dict[str, float]]  # by benchmark and name of the score


def evaluation_files(settings: LoopSettings) -> list[str]:
    """Every file of the benchmarks' folders, and those excluded by name; a folder to tune on is not one of them."""
    found: list[str] = []
    for benchmark in settings.benchmarks:
        folder = Path(settings.data) / benchmark.data
        if not folder.is_dir():
            raise InputError(f"{benchmark.label}: there is no folder {folder}")
        found += [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    for pattern in settings.exclude:
        files = matching(pattern)
        if not files:
            raise InputError(f"exclude {pattern}: no such file")
        found += files
    return list(dict.fromkeys(found))


def evaluate_round(
    settings: LoopSettings, encoder: Path, folder: Path, probes: Path, report: Callable[[str], None]
) -> Scores:
    """All scores of the encoder, from `folder/metrics.json` where they were found before."""
    path = folder / METRICS
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    source = load_source(str(encoder), device=settings.device)
    scores: Scores = {}
    for benchmark in settings.benchmarks:
        report(f"evaluate {benchmark.label}")
        result = evaluate(with_probes(benchmark, probes), source, Path(settings.data))
        scores[benchmark.label] = {score.name: score.value for score in result.outcome.scores}
    with atomic_text(str(path)) as stream:
        json.dump(scores, stream, indent=1, ensure_ascii=False)
    return scores


def with_probes(benchmark: Benchmark, probes: Path) -> Benchmark:
    if isinstance(benchmark, Bucc) and benchmark.seed_pairs and PROBES in benchmark.seed_pairs:
        return benchmark.model_copy(update={"seed_pairs": benchmark.seed_pairs.replace(PROBES, str(probes.resolve()))})
    return benchmark


def column_scores(columns: Sequence[Column], scores: Scores) -> dict[str, float]:
    """The scores of the table by title; a column that names none of them is an error with the nearest names."""
    found = {}
    for column in columns:
        of_benchmark = scores[column.benchmark]
        if column.score not in of_benchmark:
            raise InputError(no_such_score(column, column.score, list(of_benchmark)))
        found[column.title] = of_benchmark[column.score]
    return found


def deciding_score(settings: LoopSettings, scores: dict[str, float]) -> float:
    deciding = [scores[column.title] for column in settings.columns if column.decides]
    return sum(deciding) / len(deciding)
