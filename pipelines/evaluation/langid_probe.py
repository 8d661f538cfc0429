"""How much a vector tells of its language (mSimCSE section 5.2): accuracy of a linear classifier, lower is better."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from pipelines.evaluation.aligned import read_nway
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score
from pipelines.evaluation.benchmark_files import DataFolder
from pipelines.evaluation.classifiers import LabelledVectors
from pipelines.evaluation.classify import unit_rows
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import VectorSource


class LangidProbe(Benchmark):
    """On n-way aligned files; `groups` are probed one by one, by default all languages together."""

    benchmark: Literal["langid-probe"] = "langid-probe"
    files: str = Field(
        "{lang}.txt", description="Line-aligned files, `{lang}` in their name, or one TSV with a header of languages."
    )
    groups: tuple[tuple[str, ...], ...] = Field((), description="Languages probed together; all of them if empty.")
    test_share: float = Field(0.2, gt=0, lt=1, description="Share of the sentences that test the classifier.")
    random_seed: int = Field(0, description="Of whatever is drawn.")
    strength: float = Field(1.0, gt=0, description="Inverse regularization (C) of the logistic regression.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        texts = read_nway(data, self.files, tuple(dict.fromkeys(code for group in self.groups for code in group)))
        vectors = {code: unit_rows(source.vectors(text)) for code, text in texts.items()}
        scores = [self._probe(data, vectors, group) for group in self.groups or (tuple(texts),)]
        choices = [
            Choice("classifier", f"multinomial logistic regression, L2 with C = {self.strength:g}"),
            Choice("split", f"{self.test_share:g} of the lines for testing, all translations of a line on one side"),
            Choice("vectors", "normalized to length 1"),
            Choice("random seed", str(self.random_seed)),
        ]
        return Outcome(scores, choices)

    def _probe(self, data: DataFolder, vectors: dict[str, np.ndarray], group: tuple[str, ...]) -> Score:
        from sklearn.linear_model import LogisticRegression  # takes a second to import

        lines = len(vectors[group[0]])
        held = round(lines * self.test_share)
        if len(group) < 2 or not 0 < held < lines:
            raise InputError(f"{data.root}: {len(group)} languages of {lines} lines are too few to probe")
        order = np.random.default_rng(self.random_seed).permutation(lines)
        train, test = (_joined(vectors, group, rows) for rows in (order[held:], order[:held]))
        classifier = LogisticRegression(C=self.strength, max_iter=500).fit(train.vectors, train.labels)
        hits = (classifier.predict(test.vectors) == test.labels).reshape(len(group), -1).T  # (lines, languages)
        sample = TestItems(hits, mean_percent)
        return Score(" ".join(group), "language accuracy", sample.value(), sample, headline=True)


def _joined(vectors: dict[str, np.ndarray], group: tuple[str, ...], rows: np.ndarray) -> LabelledVectors:
    labels = np.repeat(np.arange(len(group)), len(rows))
    return LabelledVectors(np.concatenate([vectors[code][rows] for code in group]), labels)
