"""A score of a benchmark as what chooses the checkpoint of a training (`evaluation.task`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from encoder.settings import Settings, validate_settings
from mining.errors import InputError

if TYPE_CHECKING:
    from encoder import Encoder
    from encoder.training.training_settings import EvaluationSettings
    from encoder.training.validation import Measure
    from pipelines.evaluation.sources import VectorSource


def measure_of(evaluation: EvaluationSettings) -> Measure | None:
    """Of an encoder, as a share of 1, the higher the better; mistakes are found before any training."""
    task = evaluation.task
    if task is None:
        return None
    from pipelines.evaluation.benchmark import evaluate
    from pipelines.evaluation.finished_rows import Column, no_such_score
    from pipelines.evaluation.sources import EncodedTexts, RandomVectors
    from pipelines.evaluation.suite import Entry

    class TaskSection(Settings):
        benchmark: Entry

    benchmark = validate_settings(TaskSection, {"benchmark": task.benchmark}, "evaluation.task").benchmark
    if not Path(benchmark.data).is_dir():
        raise InputError(f"evaluation.task: there is no folder {benchmark.data}")

    def score(source: VectorSource) -> float:
        scores = {score.name: score.value for score in evaluate(benchmark, source).outcome.scores}
        if task.score not in scores:
            column = Column(title="evaluation.task", benchmark=benchmark.label, score=task.score)
            raise InputError(no_such_score(column, task.score, list(scores)))
        return scores[task.score] / 100

    def measure(encoder: Encoder) -> float:
        found = score(EncodedTexts(encoder, "the encoder in training"))
        return -found if task.lower else found

    score(RandomVectors())
    return measure
