"""PAWS-X: paraphrases by a threshold on the cosine, or by an encoder fine-tuned to tell them (mSimCSE Table 5)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from encoder.models import Pretrained
from mining.errors import InputError
from pipelines.evaluation.benchmark import Benchmark, Choice, Outcome, Score, averaged
from pipelines.evaluation.benchmark_files import DataFolder, Texts, plain
from pipelines.evaluation.measures import average_precision, best_accuracy, cosines
from pipelines.evaluation.pair_finetuning import FinetuneSettings, LabelledPairs, classify, finetune
from pipelines.evaluation.samples import TestItems, mean_percent
from pipelines.evaluation.sources import EncodedTexts, EncoderNeeded, VectorSource

TUNED, SAME = "accuracy, threshold from dev", "accuracy, threshold from the same gold (flatters)"


class _Pairs(NamedTuple):
    cosines: np.ndarray
    labels: np.ndarray


class PawsX(Benchmark):
    """The published folders `xx/test_2k.tsv` and `xx/dev_2k.tsv`: `id sentence1 sentence2 label` with a header.

    The threshold is that of the language's own dev set, or of `threshold_language` for all (zero-shot transfer). With
    `finetune`, an encoder from transformers is trained on English pairs instead, as XTREME does; for GPUs.
    """

    benchmark: Literal["paws"] = "paws"
    test: str = Field("{lang}/test_2k.tsv", description="Test file of a language.")
    dev: str = Field("{lang}/dev_2k.tsv", description="Its dev file.")
    threshold_language: str | None = Field(None, description="Whose dev set gives the threshold for all.")
    finetune: bool = Field(False, description="Fine-tune the whole encoder on `train` and test that.")
    train: str = Field("en/train.tsv", description="Pairs to fine-tune on.")
    seeds: int = Field(1, ge=1, description="Times to fine-tune.")
    learning_rate: float = Field(FinetuneSettings().learning_rate, gt=0, description="Of fine-tuning.")
    batch: int = Field(FinetuneSettings().batch, ge=1, description="Pairs in a batch.")
    epochs: int = Field(FinetuneSettings().epochs, ge=1, description="Passes over the training pairs.")
    max_tokens: int = Field(FinetuneSettings().max_tokens, ge=4, description="Longest pair.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        if self.finetune:
            return self._finetuned(source, data)
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

    def _finetuned(self, source: VectorSource, data: DataFolder) -> Outcome:
        model = source.encoder.model if isinstance(source, EncodedTexts) else None
        if not isinstance(model, Pretrained):
            raise EncoderNeeded(
                f"{source.name}: only an encoder from transformers can be fine-tuned; leave out finetune"
            )
        settings = FinetuneSettings(self.learning_rate, self.batch, self.epochs, self.max_tokens)
        lang = self.train.split("/")[0]
        train, dev = _pairs(data, self.train), _pairs(data, self.dev.replace("{lang}", lang))
        found = [finetune(model, train, dev, settings, seed) for seed in range(self.seeds)]
        scores = []
        for code, name in data.languages(self.test).items():
            pairs = _pairs(data, name)
            hits = np.stack([classify(one, pairs) == pairs.labels for one in found], axis=1)
            sample, deviation = TestItems(hits, mean_percent), 100 * float(hits.mean(axis=0).std())
            scores.append(Score(code, "accuracy, fine-tuned", sample.value(), sample, deviation))
        scores.append(averaged(f"mean of {len(scores)}", scores, headline=True))
        how = (
            f"{self.train}, AdamW {self.learning_rate:g}, batches of {self.batch}, best of {self.epochs} epochs by dev"
        )
        return Outcome(scores, [Choice("fine-tuned on", how), Choice("head", "RoBERTa's, on the first token of both")])

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
    pairs, name = _pairs(data, name), data.named(plain(name))
    sides = (Texts(f"{name}.{side}", lines, lang) for side, lines in ((1, pairs.first), (2, pairs.second)))
    first, second = (source.vectors(side) for side in sides)
    return _Pairs(cosines(first, second), pairs.labels)


def _pairs(data: DataFolder, name: str) -> LabelledPairs:
    name = plain(name)
    rows = [(number, fields) for number, fields in data.rows(name, 4, "a line is id, two sentences and label")][1:]
    if not rows:
        raise InputError(f"{data.root / name}: the file is empty; there is nothing to evaluate")
    for number, fields in rows:
        if fields[3] not in ("0", "1"):
            raise InputError(f"{data.root / name}, line {number}: the label is {fields[3]!r}, not 0 or 1")
    first, second, labels = zip(*((fields[1], fields[2], fields[3] == "1") for _, fields in rows), strict=True)
    return LabelledPairs(list(first), list(second), np.array(labels))
