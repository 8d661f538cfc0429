"""Split softmax: the batch and each pair's own hard negative press on the encoder separately.

Formula: L = (1 - hard) * InfoNCE(pair against the batch, with a margin, both directions)
           + hard * -log( e^{s(a, p)} / (e^{s(a, p)} + e^{s(a, n)}) ), s the cosine over the temperature, no margin.
In one softmax a hard negative is one column of thousands and harms where it is wrong; here it has a weight of its own.
Data: triples of a sentence, its translation and a near sentence that is none (`twinlode negatives`, or the loop's
`selection.hard_negatives`). When: an encoder that knows the pairs already, and confuses near sentences.
Reference: the loss of OmniSONAR, as far as it is known to us; not one of the four papers.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from encoder.batch import Batch, DataShape
from encoder.objectives.contrastive import contrastive_loss, in_float32
from encoder.objectives.objective import EncoderFacts, Loss, Objective
from encoder.settings import Settings


class SplitSettings(Settings):
    """The batch's temperature and margin are those of `configs/ems-small.yaml`."""

    kind: Literal["split"] = "split"
    temperature: float = Field(0.05, gt=0, description="Of both softmaxes.")
    margin: float = Field(0.2, ge=0, lt=1, description="What a pair's cosine must win by in the batch.")
    hard: float = Field(0.3, ge=0, le=1, description="Weight of the hard negatives; the batch has the rest.")

    @property
    def shape(self) -> DataShape:
        return "triples"


class Split(Objective):
    def __init__(self, settings: SplitSettings, encoder: EncoderFacts) -> None:
        super().__init__()
        self.settings, self.shape = settings, settings.shape

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        count, settings = batch.examples, self.settings
        anchors, positives, negatives = vectors.split(count)  # (examples, dim) each
        keys = torch.stack([batch.text, batch.meaning], dim=1)
        own = torch.cat([keys[:count], keys[count : 2 * count]], dim=1)  # (examples, 4)
        in_batch, hits = contrastive_loss(anchors, positives, own, settings.temperature, settings.margin)
        wrong = (own[:, :, None] == keys[2 * count :, None]).flatten(1).any(1)  # a negative that is the translation
        hard = own_negative_loss(anchors, positives, negatives, ~wrong, settings.temperature)
        total = (1 - settings.hard) * in_batch + settings.hard * hard
        return Loss(total, {"contrastive": in_batch.detach(), "hard": hard.detach(), "batch_p_at_1": hits})


@in_float32
def own_negative_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, counts: Tensor, temperature: float
) -> Tensor:
    """Mean over examples of -log softmax of the positive against the example's own negative, where it `counts`."""
    right, wrong = (functional.cosine_similarity(anchors, other) for other in (positives, negatives))
    losses = functional.softplus((wrong - right) / temperature)  # (examples,)
    return (losses * counts).sum() / counts.sum().clamp(min=1)
