"""mSimCSE: one contrastive loss, with the positives that the data gives.

Formula: -log( e^{sim(h_i, h_i+)} / sum_j (e^{sim(h_i, h_j+)} + e^{sim(h_i, h_j-)}) ), equation 1 with hard negatives as
further columns; sim is the cosine over the temperature. One direction: anchors look for positives.
Data: single sentences (`unsupervised`: the sentence again, with other dropout), NLI triples (`nli`; cross-lingual when
the triples have several languages), pairs (`supervised`; with `nli-pairs` corpora the mixture of both).
When: continuing a pretrained encoder with little or no parallel text.
Reference: Wang, Wu, Neubig, "English Contrastive Learning Can Learn Universal Cross-lingual Sentence Embeddings".
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from encoder.batch import Batch, DataShape, repeat_batch
from encoder.distributed import gather, rank
from encoder.objectives.contrastive import masked_logits, same_meaning, shared_keys
from encoder.objectives.objective import EncoderFacts, Loss, Objective
from encoder.settings import Settings
from mining.errors import InputError

Strategy = Literal["unsupervised", "nli", "supervised"]
_SHAPES: dict[Strategy, DataShape] = {"unsupervised": "monolingual", "nli": "triples", "supervised": "pairs"}


class MsimcseSettings(Settings):
    """The paper trains with `pooling: cls` in the model and `head: tanh` here; the other defaults are its own."""

    kind: Literal["msimcse"] = "msimcse"
    strategy: Strategy = Field("supervised", description="What the positives are.")
    temperature: float = Field(0.05, gt=0, description="Of the softmax.")
    head: Literal["none", "tanh"] = Field("none", description="A layer used in training alone.")
    languages: tuple[str, ...] | None = Field(None, description="unsupervised: sentences of these languages only.")

    @property
    def shape(self) -> DataShape:
        return _SHAPES[self.strategy]

    @model_validator(mode="after")
    def _languages_of_sentences(self) -> MsimcseSettings:
        if self.languages is not None and self.strategy != "unsupervised":
            raise ValueError("languages is for strategy unsupervised; choose the languages of other data with `data`")
        return self


class Msimcse(Objective):
    def __init__(self, settings: MsimcseSettings, encoder: EncoderFacts) -> None:
        super().__init__()
        self.settings, self.shape = settings, settings.shape
        self.languages = settings.languages
        self.head = tanh_head(encoder.dim) if settings.head == "tanh" else nn.Identity()
        if settings.strategy == "unsupervised" and not encoder.dropout:
            raise InputError(
                "objective.strategy unsupervised has dropout as its only augmentation, and this model has none; "
                "set model.dropout, or choose another strategy"
            )

    def arrange(self, batch: Batch) -> Batch:
        return repeat_batch(batch) if self.settings.strategy == "unsupervised" else batch

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        count = batch.examples
        vectors = functional.normalize(self.head(vectors), dim=1)
        anchors, positives, negatives = vectors[:count], vectors[count : 2 * count], vectors[2 * count :]
        keys = torch.stack([batch.text, batch.meaning], dim=1)
        own = torch.cat([keys[:count], keys[count : 2 * count]], dim=1)  # what returns in a column is no negative
        blocks = [self._scores(anchors, positives, *same_meaning(own, gather(own), rank() * count))]
        if len(negatives):
            blocks.append(self._scores(anchors, negatives, *shared_keys(own, gather(keys[2 * count :]))))
        logits = torch.cat(blocks, dim=1)  # (examples, all positives and all hard negatives)
        positive = (anchors * positives).sum(1) / self.settings.temperature
        loss = (logits.logsumexp(1) - positive).mean()
        target = torch.arange(count, device=vectors.device) + rank() * count
        hits = (logits.detach().argmax(1) == target).float().mean()
        return Loss(loss, {"contrastive": loss.detach(), "batch_p_at_1": hits})

    def _scores(self, anchors: Tensor, part: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        return masked_logits(anchors, gather(part), rows, columns, self.settings.temperature)


def tanh_head(dim: int) -> nn.Module:
    """What SimCSE puts on the first token's state while training; evaluation uses the state itself."""
    return nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
