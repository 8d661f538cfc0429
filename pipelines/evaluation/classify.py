"""Zero-shot cross-lingual classification: an MLP on frozen vectors of one language, tested on the others."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.benchmark_files import DataFolder, language_code
from pipelines.evaluation.classifiers import (
    DRAWS,
    FEW,
    LabelledVectors,
    MlpSettings,
    few_shot_predictions,
    predict,
    train_mlp,
)
from pipelines.evaluation.labelled import Labelled, codes, read_labelled, some_of
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource


class Classify(Benchmark):
    """`label TAB text` files of MLDoc, MTOP's own tables, CLS's `.review`, MARC's `.json`; `*` stands for anything.

    The protocol `mlp` is EMS's (Tables 10 to 12): zero-shot, from every language to every other. `mteb` is what MPCL
    reports on MTOP: logistic regression on eight texts of each label, tested in the same language.

    Without `train_languages` every language that has a training file trains once. Without a dev file of the training
    language a tenth of the training file serves.
    """

    benchmark: Literal["classify"] = "classify"
    train: str = Field("{lang}.train*", description="Training file of a language.")
    dev: str = Field("{lang}.dev*", description="Its dev file.")
    test: str = Field("{lang}.test*", description="Its test file.")
    protocol: Literal["mlp", "mteb"] = Field("mlp", description="EMS's, or what MPCL reports on MTOP.")
    train_languages: tuple[str, ...] = Field((), description="Those that train; all with a training file if empty.")
    most: int | None = Field(None, ge=2, description="Train on this many texts, as many of each label (MARC: 2000).")
    seeds: int = Field(5, ge=1, description="Times to train.")
    hidden: tuple[int, ...] = Field(MlpSettings().hidden, description="Widths of hidden layers.")
    dropout: float = Field(MlpSettings().dropout, ge=0, lt=1, description="Of hidden layers.")
    learning_rate: float = Field(MlpSettings().learning_rate, gt=0, description="Of the classifier.")
    batch: int = Field(MlpSettings().batch, ge=1, description="Texts in a batch.")
    epochs: int = Field(MlpSettings().epochs, ge=1, description="Passes over the training file.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        if self.protocol == "mteb":
            return self._few_shot(source, data)
        training, tests = data.languages(self.train), data.languages(self.test)
        for code in self.train_languages:
            if code not in training:
                raise InputError(f"{data.root}: no file like {self.train!r} for {code}")
        read = {code: read_labelled(data, name, code) for code, name in tests.items()}
        scores: list[Score] = []
        away: dict[tuple[str, str], Score] = {}
        for code in self.train_languages or sorted(training):
            found = self._from(source, data, code, training[code], read)
            scores += found.values()
            away |= {(language_code(code), language_code(to)): score for to, score in found.items() if to != code}
        scores += _means(away)
        choices = [
            Choice("classifier", f"MLP {self.hidden}, dropout {self.dropout:g}, Adam {self.learning_rate:g}"),
            Choice("epoch", f"best of {self.epochs} on the dev set of the training language"),
            Choice("vectors", "normalized to length 1"),
            Choice("seeds", f"mean of {self.seeds}, with standard deviation"),
        ]
        return Outcome(scores, choices)

    def _from(
        self, source: VectorSource, data: DataFolder, code: str, name: str, tests: dict[str, Labelled]
    ) -> dict[str, Score]:
        """The accuracy on each test language of networks trained on one."""
        labelled = some_of(read_labelled(data, name, code), self.most, 0)
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
            sample = TestItems(hits, mean_percent)
            deviation = 100 * float(hits.mean(axis=0).std())
            scores[test] = Score(f"{code}-{test}", "accuracy", sample.value(), sample, deviation)
        return scores

    def _few_shot(self, source: VectorSource, data: DataFolder) -> Outcome:
        """MTEB's protocol: the mean over ten draws of eight training texts a label."""
        training, tests = data.languages(self.train), data.languages(self.test)
        scores = []
        for code in self.train_languages or sorted(training.keys() & tests.keys()):
            labelled = read_labelled(data, training[code], code)
            classes = sorted(set(labelled.labels))
            train = LabelledVectors(source.vectors(labelled.texts), codes(labelled, classes))
            test = read_labelled(data, tests[code], code)
            examples = LabelledVectors(source.vectors(test.texts), codes(test, classes))
            hits = (few_shot_predictions(train, examples.vectors) == examples.labels).T  # (texts, draws)
            sample, deviation = TestItems(hits, mean_percent), 100 * float(hits.mean(axis=0).std())
            scores.append(Score(code, "accuracy", sample.value(), sample, deviation))
        if not scores:
            raise InputError(f"{data.root}: no language has both a training and a test file")
        scores.append(averaged(f"mean of {len(scores)}, same language", scores, headline=True))
        choices = [
            Choice("classifier", f"logistic regression on {FEW} texts a label, as MTEB"),
            Choice("draws", f"mean of {DRAWS}, with standard deviation"),
            Choice("vectors", "as they are"),
        ]
        return Outcome(scores, choices)

    def _training(
        self, source: VectorSource, data: DataFolder, code: str, labelled: Labelled, classes: list[str]
    ) -> tuple[LabelledVectors, LabelledVectors]:
        train = _examples(source, labelled, classes)
        held = data.matching(self.dev.replace("{lang}", code))
        if held:
            return train, _examples(source, read_labelled(data, held[0], code), classes)
        order = np.random.default_rng(0).permutation(len(train.labels))
        cut = max(1, len(order) // 10)
        parts = [LabelledVectors(train.vectors[rows], train.labels[rows]) for rows in (order[cut:], order[:cut])]
        return parts[0], parts[1]


def _means(away: dict[tuple[str, str], Score]) -> list[Score]:
    """Of all directions, and of those with English, which are what EMS reports (14 of MLDoc's 56)."""
    if not away:
        return []
    scores = [averaged(f"mean of {len(away)}, zero-shot", list(away.values()), headline=True)]
    out, back = ([score for pair, score in away.items() if pair[side] == "en"] for side in (0, 1))
    if out and back and len(out) + len(back) < len(away):
        scores.append(averaged(f"mean of {len(out + back)} with English, zero-shot", out + back, headline=True))
    if out and back:
        scores += [averaged("mean of en-X", out), averaged("mean of X-en", back)]
    return scores


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1, float32; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors, np.float32), where=lengths > 0)


def _examples(source: VectorSource, labelled: Labelled, classes: list[str]) -> LabelledVectors:
    return LabelledVectors(unit_rows(source.vectors(labelled.texts)), codes(labelled, classes))
