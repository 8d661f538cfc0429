"""Zero-shot cross-lingual classification: an MLP on frozen vectors of one language, tested on the others."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.classifiers import Examples, MlpSettings, predict, train_mlp
from pipelines.evaluation.data import DataFolder
from pipelines.evaluation.labelled import Labelled, codes, read_labelled
from pipelines.evaluation.samples import Sample, mean_percent
from pipelines.evaluation.sources import VectorSource


class Classify(Benchmark):
    """`label TAB text` files of MLDoc, CLS or MTOP, or MTOP's own tables; `*` in the names stands for anything.

    Without `train_languages` every language that has a training file trains once. Without a dev file of the training
    language a tenth of the training file serves.
    """

    benchmark: Literal["classify"] = "classify"
    train: str = "{lang}.train*"
    dev: str = "{lang}.dev*"
    test: str = "{lang}.test*"
    train_languages: tuple[str, ...] = ()
    seeds: int = Field(5, ge=1)
    hidden: tuple[int, ...] = MlpSettings().hidden
    dropout: float = Field(MlpSettings().dropout, ge=0, lt=1)
    learning_rate: float = Field(MlpSettings().learning_rate, gt=0)
    batch: int = Field(MlpSettings().batch, ge=1)
    epochs: int = Field(MlpSettings().epochs, ge=1)

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        training, tests = data.languages(self.train), data.languages(self.test)
        for code in self.train_languages:
            if code not in training:
                raise InputError(f"{data.root}: no file like {self.train!r} for {code}")
        read = {code: read_labelled(data, name, code) for code, name in tests.items()}
        scores: list[Score] = []
        away: list[Score] = []
        for code in self.train_languages or sorted(training):
            found = self._from(source, data, code, training[code], read)
            scores += found.values()
            away += [score for test, score in found.items() if test != code]
        if away:
            scores.append(averaged(f"mean of {len(away)}, zero-shot", away, headline=True))
        choices = [
            Choice("classifier", f"MLP {self.hidden}, dropout {self.dropout:g}, Adam {self.learning_rate:g}"),
            Choice("epoch", f"best of {self.epochs} on the dev set of the training language"),
            Choice("vectors", "normalised to length 1"),
            Choice("seeds", f"mean of {self.seeds}, with standard deviation"),
        ]
        return Outcome(scores, choices)

    def _from(
        self, source: VectorSource, data: DataFolder, code: str, name: str, tests: dict[str, Labelled]
    ) -> dict[str, Score]:
        """The accuracy on each test language of networks trained on one."""
        labelled = read_labelled(data, name, code)
        classes = sorted(set(labelled.labels))
        if len(classes) < 2:
            raise InputError(f"{data.root / name}: every text has the label {classes[0]!r}; two labels are needed")
        train, dev = self._training(source, data, code, labelled, classes)
        ready = {test: _examples(source, found, classes) for test, found in tests.items()}
        settings = MlpSettings(self.hidden, self.dropout, self.learning_rate, self.batch, self.epochs)
        networks = [train_mlp(train, dev, len(classes), settings, seed) for seed in range(self.seeds)]
        scores: dict[str, Score] = {}
        for test, examples in ready.items():
            hits = np.stack([predict(n, examples.vectors) == examples.labels for n in networks], axis=1)
            sample = Sample(hits, mean_percent)
            deviation = 100 * float(hits.mean(axis=0).std())
            scores[test] = Score(f"{code}-{test}", "accuracy", sample.value(), sample, deviation)
        return scores

    def _training(
        self, source: VectorSource, data: DataFolder, code: str, labelled: Labelled, classes: list[str]
    ) -> tuple[Examples, Examples]:
        train = _examples(source, labelled, classes)
        held = data.matching(self.dev.replace("{lang}", code))
        if held:
            return train, _examples(source, read_labelled(data, held[0], code), classes)
        order = np.random.default_rng(0).permutation(len(train.labels))
        cut = max(1, len(order) // 10)
        parts = [Examples(train.vectors[rows], train.labels[rows]) for rows in (order[cut:], order[:cut])]
        return parts[0], parts[1]


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1, float32; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors, np.float32), where=lengths > 0)


def _examples(source: VectorSource, labelled: Labelled, classes: list[str]) -> Examples:
    return Examples(unit_rows(source.vectors(labelled.texts)), codes(labelled, classes))
