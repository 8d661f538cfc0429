"""One training batch: sentences grouped by meaning, the input of every objective."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from encoder.tokens import TokenBatch

# What one training example is: two translations; anchor, positive and hard negative; any number of translations of one
# meaning; one sentence.
DataShape = Literal["pairs", "triples", "groups", "monolingual"]


class Batch(NamedTuple):
    """Sentences of one step: one anchor of each example, then all positives, then (of triples) one hard negative each.

    Anchors and hard negatives are in the order of the examples; so are positives where each example has one, which
    makes a batch of pairs all left sides and then all right sides. `example` numbers the examples of this batch;
    `meaning` is the same for sentences known to be translations of each other anywhere in the corpus, and `text` for
    equal sentences: neither may serve as a negative.
    """

    tokens: TokenBatch
    example: Tensor  # (sentences,) int64
    language: Tensor  # (sentences,) int64, index in the run's list of languages
    text: Tensor  # (sentences,) int64, hash of the tokens
    meaning: Tensor  # (sentences,) int64
    examples: int

    @property
    def sentences(self) -> int:
        return len(self.example)

    def to(self, device: torch.device) -> Batch:
        ids, offsets = self.tokens
        return Batch(
            TokenBatch(ids.to(device, non_blocking=True), offsets.to(device, non_blocking=True)),
            self.example.to(device, non_blocking=True),
            self.language.to(device, non_blocking=True),
            self.text.to(device, non_blocking=True),
            self.meaning.to(device, non_blocking=True),
            self.examples,
        )


def slice_tokens(tokens: TokenBatch, start: int, stop: int) -> TokenBatch:
    """Sentences `start` to `stop` (exclusive)."""
    offsets = tokens.offsets[start : stop + 1]
    return TokenBatch(tokens.ids[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])


def take_tokens(tokens: TokenBatch, rows: Tensor) -> TokenBatch:
    """The sentences `rows`, in that order."""
    lengths = tokens.offsets.diff()[rows]
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    within = torch.arange(int(offsets[-1]), device=rows.device) - offsets[:-1].repeat_interleave(lengths)
    return TokenBatch(tokens.ids[tokens.offsets[:-1][rows].repeat_interleave(lengths) + within], offsets)


def repeat_batch(batch: Batch) -> Batch:
    """Every sentence twice: single sentences become pairs with themselves."""
    ids, offsets = batch.tokens
    tokens = TokenBatch(ids.repeat(2), torch.cat([offsets, offsets[1:] + len(ids)]))
    example, language, text, meaning = (column.repeat(2) for column in batch[1:5])
    return Batch(tokens, example, language, text, meaning, batch.examples)
