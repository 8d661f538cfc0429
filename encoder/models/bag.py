"""The bag: a sentence is the mean of its subword embeddings, the "SP" baseline of the papers."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from encoder.tokens import TokenBatch


class BagSettings(BaseModel):
    """No learned weight per token: under a cosine the length of an embedding already is one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["bag"] = "bag"
    dim: int = Field(512, ge=1)
    bigrams: int = Field(0, ge=0, description="Hash buckets for adjacent token pairs; 0 for unigrams alone.")
    sparse: bool = Field(False, description="Sparse gradients, for SparseAdam with very large tables.")


class Bag(nn.Module):
    """Mean of token embeddings, plus the mean of hashed bigram embeddings, which start at zero."""

    max_tokens: int | None = None

    def __init__(self, settings: BagSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.dim = settings.dim
        self.tokens = _mean_table(vocabulary, settings)
        nn.init.normal_(self.tokens.weight, std=settings.dim**-0.5)
        self.bigrams = _mean_table(settings.bigrams, settings) if settings.bigrams else None
        if self.bigrams is not None:
            nn.init.zeros_(self.bigrams.weight)

    def forward(self, batch: TokenBatch) -> Tensor:
        vectors = self.tokens(batch.ids, batch.offsets)  # (batch, dim)
        if self.bigrams is not None:
            vectors = vectors + self.bigrams(*bigram_buckets(batch, self.bigrams.num_embeddings))
        return vectors


def _mean_table(rows: int, settings: BagSettings) -> nn.EmbeddingBag:
    return nn.EmbeddingBag(rows, settings.dim, mode="mean", include_last_offset=True, sparse=settings.sparse)


def bigram_buckets(batch: TokenBatch, buckets: int) -> TokenBatch:
    """The hash bucket of each pair of neighbours inside a sentence: one fewer than its tokens."""
    ids, offsets = batch
    has_tokens = offsets.diff() > 0
    inside = torch.ones_like(ids, dtype=torch.bool)
    inside[offsets[1:][has_tokens] - 1] = False  # the last token of a sentence starts no pair
    left, right = ids[inside], ids.roll(-1)[inside]
    # Odd multipliers spread neighbouring ids; int64 wraps the same on every device, the shift folds high bits in.
    mixed = (left * 0x9E3779B97F4A7C1 + right) * 0x2545F4914F6CDD1D
    lost = torch.cat([offsets.new_zeros(1), has_tokens.cumsum(0)])
    return TokenBatch((mixed ^ (mixed >> 31)).remainder(buckets), offsets - lost)
