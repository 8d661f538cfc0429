"""The pair classifier on a language that its trees never saw: trained on all tasks but those of that language.

`OMP_NUM_THREADS=1 python -m tests.benchmarks leave_one_out`, about six minutes of CPU time; needs ../shared/data. The
tasks are those of configs/classifier.yaml. Tested on europarl-dev, and for languages that are not in it on the
synthetic tasks that were left out. Best F1 by gold after one-to-one matching. LANGUAGES (default: de,fr,es,zh) are left
out one by one. The projection of word vectors, which no label has a part in, is that of all languages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from encoder.inference import Encoder
from encoder.settings import load_settings
from mining.files import read_lines
from mining.metrics import best_point, label_curve
from mining.scoring.classifier import Use, raw_scores
from mining.scoring.features import RATIO
from mining.scoring.fitting import TaskExamples, fit_trees
from mining.scoring.trees import parse_trees
from mining.threads import thread_pool
from pipelines.clean.bitext_sample import sample_bitexts
from pipelines.clean.classifier_training import ClassifierSettings, TaskMaker, fit_projection
from pipelines.clean.gold_task import GoldTaskSettings
from tests.conftest import SHARED_DATA

LANGUAGES = os.environ.get("LANGUAGES", "de,fr,es,zh").split(",")
_RECIPE = Path("configs/classifier.yaml")
_GOLD = SHARED_DATA / "eval/mining/europarl-dev"


class NamedTask(NamedTuple):
    """The candidates of a mining task, and how many right pairs there are to find."""

    name: str
    examples: TaskExamples
    right: int

    @property
    def languages(self) -> list[str]:
        return self.name.split(" ")[0].split("-")


def gold_task(language: str) -> GoldTaskSettings:
    folder = _GOLD / f"{language}-en"
    side = f"{folder}/{language}-en"
    return GoldTaskSettings(
        pair=f"{language}-en", source=f"{side}.{language}.xz", target=f"{side}.en.xz", gold=f"{side}.gold"
    )


def mining_tasks(settings: ClassifierSettings, maker: TaskMaker, samples: Sequence) -> Iterator[NamedTask]:
    """Those that the recipe trains on."""
    for sample in samples:
        for number, examples in enumerate(maker.examples(sample)):
            if examples.use == Use.mining:
                # A pair that the graph does not propose cannot be found, and is not counted.
                found = len(np.unique(examples.source[examples.labels]))
                yield NamedTask(f"{sample.name} {('mixed', 'one corpus')[number]}", examples, found)
    for given in settings.gold:
        yield gold_examples(given, maker)


def gold_examples(given: GoldTaskSettings, maker: TaskMaker) -> NamedTask:
    return NamedTask(f"{given.pair} europarl-dev", maker.gold_examples(given), len(read_lines(given.gold)))


def best_f1(task: NamedTask, scores: np.ndarray) -> float:
    """In percent, after greedy matching."""
    examples = task.examples._replace(usable=np.ones(len(scores), bool))
    kept = examples.matched(scores)
    return 100 * best_point(label_curve(scores[kept], examples.labels[kept], task.right)).f1


def make_tasks(settings: ClassifierSettings) -> tuple[list[NamedTask], list[NamedTask]]:
    """The tasks to train on, and those of europarl-dev to test on."""
    encoder, rng = Encoder.load(), np.random.default_rng(settings.random_seed)
    samples = sample_bitexts(settings.data, settings.language_pairs, settings.pairs + settings.lexicon_pairs, rng)
    projection = fit_projection([sample.mixed for sample in samples], encoder, settings.word_dim, rng)
    with thread_pool(1) as threads:
        maker = TaskMaker(settings, encoder, lambda vectors: vectors @ projection, threads, rng)
        training = list(mining_tasks(settings, maker, samples))
        there = [language for language in LANGUAGES if (_GOLD / f"{language}-en").exists()]
        return training, [gold_examples(gold_task(language), maker) for language in there]


def tree_scores(training: Sequence[NamedTask], tests: Sequence[NamedTask], settings: ClassifierSettings) -> list[float]:
    """The best F1 of each test by trees of these tasks."""
    trees = parse_trees(fit_trees([task.examples for task in training], settings.trees, settings.random_seed, 1))
    return [best_f1(task, raw_scores(trees, task.examples.features, Use.mining, 1)) for task in tests]


def main() -> None:
    if not SHARED_DATA.exists():
        print(f"## leave_one_out: skipped, {SHARED_DATA} is not here")
        return
    settings = load_settings(ClassifierSettings, _RECIPE, [])
    training, gold = make_tasks(settings)
    table = Table("left out", "test", "margin", "trees without it", "trees of all", title="Best F1")
    of_all = dict(zip((task.name for task in gold), tree_scores(training, gold, settings), strict=True))
    for language in LANGUAGES:
        tests = [task for task in gold if language in task.languages]
        tests = tests or [task for task in training if language in task.languages]
        without = tree_scores([task for task in training if language not in task.languages], tests, settings)
        for task, score in zip(tests, without, strict=True):
            margin = best_f1(task, np.nan_to_num(task.examples.features[:, RATIO].astype(np.float64)))
            everything = f"{of_all[task.name]:.1f}" if task.name in of_all else "has its text"
            table.add_row(language, task.name, f"{margin:.1f}", f"{score:.1f}", everything)
    Console().print(table)


if __name__ == "__main__":
    main()
