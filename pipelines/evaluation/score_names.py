"""Names of scores before there is an encoder to score: they follow from a benchmark's files and settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, evaluate
from pipelines.evaluation.bucc import PROMISED, Bucc
from pipelines.evaluation.finished_rows import Column, no_such_score
from pipelines.evaluation.sources import EncoderNeeded, RandomVectors


def require_scores(columns: Sequence[Column], benchmark: Benchmark, root: Path) -> None:
    """Run a benchmark on noise: it shows what is wrong with its files, and with the names that its columns ask for."""
    try:
        names = [score.name for score in evaluate(benchmark, RandomVectors(), root).outcome.scores]
    except EncoderNeeded:
        return  # its names are not known yet
    for column in columns:
        for name in column.scores if column.benchmark == benchmark.label else ():
            if name not in names and not _by_vectors(name, benchmark):
                raise InputError(no_such_score(column, name, names))


def _by_vectors(score: str, benchmark: Benchmark) -> bool:
    """It depends on the vectors whether there is this score: noise reaches no precision."""
    return isinstance(benchmark, Bucc) and score.endswith(PROMISED.format(benchmark.precision))
