"""Noise in bitext: real pairs, some of them spoilt on purpose; how much of each kind a score finds.

At the threshold that keeps a given share of the right pairs: precision of what is kept, and the share of each kind of
noise that is rejected, by the pair classifier, by the margin and by the plain cosine.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mining.errors import InputError
from mining.scoring.tasks import Bitext, CleaningTask, cleaning_task
from pipelines.clean.chunk_scores import SCORES, Scorer
from pipelines.evaluation.aligned import read_nway
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import EncodedTexts, EncoderNeeded, VectorSource
from pipelines.mine.rescoring import find_classifier, require_encoder

METHODS = {"classifier": 0, "cosine": SCORES.index("cosine"), "margin": SCORES.index("margin")}
WRONG_LANGUAGE = "wrong language"


class NoiseInBitext(Benchmark):
    """Line-aligned files of several languages, `{lang}` in their name, English among them."""

    benchmark: Literal["noise"] = "noise"
    files: str = Field(
        "questions.{lang}.txt",
        description="Line-aligned files, `{lang}` in their name, or one TSV with a header of languages.",
    )
    languages: tuple[str, ...] = Field((), description="All that are there if empty.")
    classifier: str = Field("beside", description="A pair classifier's folder, or `beside` the encoder.")
    noisy: float = Field(0.5, gt=0, lt=1, description="Share of pairs that are made wrong.")
    recall: float = Field(0.95, gt=0, lt=1, description="Share of the right pairs that are kept.")
    random_seed: int = Field(0, description="Of whatever is drawn.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        if not isinstance(source, EncodedTexts):
            raise EncoderNeeded("the noise benchmark needs an encoder: vectors alone do not tell the words")
        texts = read_nway(data, self.files, (*self.languages, "en") if self.languages else ())
        if "en" not in texts or len(texts) < 2:
            raise InputError(f"{data.root}: no English file like {self.files!r} and another beside it")
        others = [lang for lang in texts if lang != "en"]
        scores = [score for lang in others for score in self._language(source, texts, lang, others)]
        groups: dict[tuple[str, str], list[Score]] = {}
        for score in scores:
            groups.setdefault((score.dataset.partition(" ")[2], score.metric), []).append(score)
        means = [
            averaged(f"mean of {len(group)}: {method}", group, headline=True)
            for (method, _), group in groups.items()
            if len(group) > 1
        ]
        choices = [Choice("noise", f"{self.noisy:.0%} of the pairs"), Choice("kept", f"{self.recall:.0%} of the right")]
        return Outcome(scores + means, choices)

    def _language(self, source: EncodedTexts, texts: dict[str, Texts], lang: str, others: list[str]) -> list[Score]:
        classifier = find_classifier(source.name, None if self.classifier == "beside" else self.classifier)
        if classifier is None:
            raise InputError(f"{source.name}: no pair classifier beside this encoder; make one with train-classifier")
        require_encoder(classifier, source.encoder)
        task = self._task(source, texts, lang, others)
        found = Scorer(source.encoder, classifier, (lang, "en")).scores(task.source, task.target)
        return [
            score for method, column in METHODS.items() for score in self._scores(task, found[:, column], lang, method)
        ]

    def _task(self, source: EncodedTexts, texts: dict[str, Texts], lang: str, others: list[str]) -> CleaningTask:
        """Noise of every kind; a right pair in seven gets its target in a language that is not wanted."""
        rng = np.random.default_rng((self.random_seed, len(lang), *lang.encode()))
        bitext = Bitext(lang, "en", texts[lang].lines, texts["en"].lines)
        graph = graph_of(source.vectors(texts[lang]), source.vectors(texts["en"]), 4)
        task = cleaning_task(bitext, self.noisy, graph, rng)
        wrong = next((other for other in others if other != lang), None)
        if wrong is not None:
            for row in np.flatnonzero(task.right & (rng.random(len(bitext)) < 1 / 7)).tolist():
                task.target[row], task.right[row], task.kinds[row] = texts[wrong].lines[row], False, WRONG_LANGUAGE
        return task

    def _scores(self, task: CleaningTask, values: np.ndarray, lang: str, method: str) -> list[Score]:
        threshold = np.quantile(values[task.right], 1 - self.recall)
        kept = values >= threshold
        name, at = f"{lang}-en {method}", f"at {self.recall:.0%} recall"
        found = TestItems(task.right[kept][:, None], mean_percent)
        scores = [Score(name, f"precision {at}", found.value(), found)]
        kinds = np.array(task.kinds)
        for kind in sorted(set(task.kinds) - {"right"}):
            sample = TestItems(~kept[kinds == kind][:, None], mean_percent)
            scores.append(Score(name, f"{kind} rejected {at}", sample.value(), sample))
        return scores
