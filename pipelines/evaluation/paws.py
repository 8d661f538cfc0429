"""PAWS-X as similarity classification: paraphrases are pairs whose cosine is above a threshold from the dev set."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.benchmark_files import DataFolder, Texts, plain
from pipelines.evaluation.measures import average_precision, best_accuracy, cosines
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource

TUNED, SAME = "accuracy, threshold from dev", "accuracy, threshold from the same gold (flatters)"


class _Pairs(NamedTuple):
    cosines: np.ndarray
    labels: np.ndarray


class PawsX(Benchmark):
    """The published folders `xx/test_2k.tsv` and `xx/dev_2k.tsv`: `id sentence1 sentence2 label` with a header.

    The threshold is that of the language's own dev set, or of `threshold_language` for all (zero-shot transfer).
    """

    benchmark: Literal["paws"] = "paws"
    test: str = "{lang}/test_2k.tsv"
    dev: str = "{lang}/dev_2k.tsv"
    threshold_language: str | None = None

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        scores: list[Score] = []
        untuned: list[str] = []
        for code, name in data.languages(self.test).items():
            pairs = _read(source, data, name, code)
            tuning = self._dev(source, data, code)
            scores += _scores(code, pairs, best_accuracy(*tuning).threshold if tuning else None)
            untuned += [] if tuning else [code]
        for metric in dict.fromkeys(score.metric for score in scores):
            group = [score for score in scores if score.metric == metric]
            scores.append(averaged(f"mean of {len(group)}", group, headline=True))
        threshold = f"dev set of {self.threshold_language or 'each language'}"
        if untuned:
            threshold += f"; same gold only for {' '.join(untuned)}, without dev set"
        return Outcome(scores, [Choice("similarity", "cosine"), Choice("threshold", threshold)])

    def _dev(self, source: VectorSource, data: DataFolder, code: str) -> _Pairs | None:
        """The pairs that the threshold comes from; without a dev set only the same-gold figure exists."""
        lang = self.threshold_language or code
        name = data.find(self.dev.replace("{lang}", lang))
        if name is None and self.threshold_language is not None:
            raise InputError(f"{data.root}: no {self.dev.replace('{lang}', lang)} to take the threshold from")
        return _read(source, data, name, lang) if name else None


def _scores(code: str, pairs: _Pairs, threshold: float | None) -> list[Score]:
    same = best_accuracy(*pairs)
    scores = []
    for metric, value in ((TUNED, threshold), (SAME, same.threshold)):
        if value is not None:
            sample = TestItems(((pairs.cosines >= value) == pairs.labels)[:, None], mean_percent)
            scores.append(Score(code, metric, sample.value(), sample))
    ranked = TestItems(
        np.stack([pairs.cosines, pairs.labels], axis=1), lambda items: 100 * average_precision(items[:, 0], items[:, 1])
    )
    return [*scores, Score(code, "average precision", ranked.value(), ranked)]


def _read(source: VectorSource, data: DataFolder, name: str, lang: str) -> _Pairs:
    name = plain(name)
    rows = [(number, fields) for number, fields in data.rows(name, 4, "a line is id, two sentences and label")][1:]
    if not rows:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to evaluate for {lang}")
    for number, fields in rows:
        if fields[3] not in ("0", "1"):
            raise InputError(f"{data.root / name}, line {number}: the label is {fields[3]!r}, not 0 or 1")
    sides = (Texts(f"{data.named(name)}.{side}", [fields[side] for _, fields in rows], lang) for side in (1, 2))
    first, second = (source.vectors(side) for side in sides)
    return _Pairs(cosines(first, second), np.array([fields[3] == "1" for _, fields in rows]))
