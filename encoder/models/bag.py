"""The bag: a sentence is the mean of its subword embeddings, the "SP" baseline of the papers.

Hashed features beside the subwords give it what a plain bag lacks: pairs of neighbours for order, whole words for
meaning that a small vocabulary cuts to pieces, and romanised spellings for names that it has never seen.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional

from encoder.models.spelling import WIDTH, batch_of, bucket, different_words, ngrams, on_cpu
from encoder.tokens import TokenBatch

_START = 0.1  # embeddings start small, so that those seen rarely add no noise to the rest
_LONGEST_WORD = 64  # subwords of a word beyond this many do not count in its hash


class BagSettings(BaseModel):
    """No learned weight per token: under a cosine the length of an embedding already is one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["bag"] = "bag"
    dim: int = Field(512, ge=1, description="Width.")
    bigrams: int = Field(0, ge=0, description="Hash buckets for adjacent token pairs; 0 for none.")
    words: int = Field(0, ge=0, description="Hash buckets for words of two or more tokens; 0 for none.")
    ngrams: int = Field(0, ge=0, description="Hash buckets for 3- and 4-grams of romanised words; 0 for none.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of features that a training step leaves out.")
    sparse: bool = Field(False, description="Gradients of the rows that a batch uses only, for `lazy_adam`.")


class Bag(nn.Module):
    """Mean over all features of a sentence: subwords, hashed bigrams, hashed words and the spelling of each word."""

    max_tokens: int | None = None
    word_starts: Tensor
    spellings: Tensor

    def __init__(
        self,
        settings: BagSettings,
        vocabulary: int,
        word_starts: Tensor | None = None,
        spellings: Tensor | None = None,
    ) -> None:
        """`word_starts` (vocabulary,) says which tokens begin a word, `spellings` (vocabulary, letters) how they are
        written in Latin letters; a checkpoint brings both."""
        super().__init__()
        self.settings = settings
        self.dim = settings.dim
        self.dropout = nn.Dropout(settings.dropout)
        self.tokens = _table(vocabulary, settings.dim)
        self.bigrams = _table(settings.bigrams, settings.dim) if settings.bigrams else None
        self.words = _table(settings.words, settings.dim) if settings.words else None
        self.ngrams = _table(settings.ngrams, settings.dim) if settings.ngrams else None
        if self.words is not None or self.ngrams is not None:
            starts = torch.zeros(vocabulary, dtype=torch.bool) if word_starts is None else word_starts
            self.register_buffer("word_starts", starts)
        if self.ngrams is not None:
            spelled = torch.zeros(vocabulary, WIDTH, dtype=torch.uint8) if spellings is None else spellings
            self.register_buffer("spellings", spelled)

    def forward(self, batch: TokenBatch) -> Tensor:
        tokens = self._some(batch)
        total = self._sum(self.tokens, tokens)  # (batch, dim)
        count = tokens.offsets.diff()
        if self.bigrams is not None:
            pairs = self._some(bigram_buckets(batch, self.bigrams.num_embeddings))
            total, count = total + self._sum(self.bigrams, pairs), count + pairs.offsets.diff()
        if self.words is not None:
            words = self._some(word_buckets(batch, self.word_starts, self.words.num_embeddings))
            total, count = total + self._sum(self.words, words), count + words.offsets.diff()
        if self.ngrams is not None and len(batch.ids):
            spelled, spelled_words = self._spelled(self.ngrams, batch)
            total, count = total + spelled, count + spelled_words
        return total / count.clamp(min=1)[:, None]

    def _spelled(self, table: nn.EmbeddingBag, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """The sum over the words of each sentence of the mean of their n-grams, and how many words there are."""
        words, occurrences = different_words(batch, self.word_starts)
        occurrences = self._some(occurrences)
        grams = ngrams(words, self.spellings, table.num_embeddings)
        means = self._sum(table, grams) / grams.offsets.diff().clamp(min=1)[:, None]  # (different words, dim)
        return _Sum.apply(means, occurrences.ids, occurrences.offsets, False), occurrences.offsets.diff()

    def _some(self, features: TokenBatch) -> TokenBatch:
        """The features that dropout keeps while training."""
        if not self.training or not self.dropout.p:
            return features
        kept = self.dropout(torch.ones(len(features.ids), device=features.ids.device)) > 0
        kept_before = torch.cat([features.offsets.new_zeros(1), kept.cumsum(0)])
        return TokenBatch(features.ids[kept], kept_before[features.offsets])

    def _sum(self, table: nn.EmbeddingBag, batch: TokenBatch) -> Tensor:
        if self.settings.sparse and self.training and torch.is_grad_enabled():
            return _Sum.apply(table.weight, batch.ids, batch.offsets, True)
        return table(batch.ids, batch.offsets)


def _table(rows: int, dim: int) -> nn.EmbeddingBag:
    # Not the constructor, which would draw all of it a first time with its own spread.
    weight = torch.empty(rows, dim)
    if not weight.is_meta:  # of a checkpoint that brings its weights; to draw there makes torch load its compiler
        weight.normal_(std=_START * dim**-0.5)
    return table_of(weight)


def table_of(weight: Tensor) -> nn.EmbeddingBag:
    """Sums of rows of `weight` by `TokenBatch`."""
    return nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum", include_last_offset=True)


class _Sum(torch.autograd.Function):
    """Sums of embeddings whose gradient holds each used row once: as a sparse tensor, or as a dense one where most rows
    are used.

    Torch's own sparse gradient has a row per token of the batch. Here occurrences are sorted by embedding, so that
    the gradient of an embedding is itself a bag: the sum of the sentence gradients it occurs in.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, ids: Tensor, offsets: Tensor, sparse: bool) -> Tensor:
        ctx.save_for_backward(ids, offsets)
        ctx.shape, ctx.sparse = weight.shape, sparse
        return functional.embedding_bag(ids, weight, offsets, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        ids, offsets = ctx.saved_tensors
        sentences = torch.arange(len(offsets) - 1, device=ids.device).repeat_interleave(offsets.diff())
        ordered, order = ids.sort()
        rows, counts = ordered.unique_consecutive(return_counts=True)
        starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        values = functional.embedding_bag(
            sentences[order], gradients[0].contiguous(), starts, mode="sum", include_last_offset=True
        )
        if ctx.sparse:
            values = torch.sparse_coo_tensor(rows[None], values, ctx.shape, is_coalesced=True, check_invariants=False)
        elif len(rows) < ctx.shape[0]:
            values = values.new_zeros(ctx.shape).index_copy_(0, rows, values)
        return values, None, None, None


def bigram_buckets(batch: TokenBatch, buckets: int) -> TokenBatch:
    """The hash bucket of each pair of neighbours inside a sentence: one fewer than its tokens."""
    ids, offsets = batch
    if on_cpu(batch):
        from encoder.models.hashed_features import pair_buckets

        return batch_of(pair_buckets(ids.numpy(), offsets.numpy(), buckets))
    has_tokens = offsets.diff() > 0
    inside = torch.ones_like(ids, dtype=torch.bool)
    inside[offsets[1:][has_tokens] - 1] = False  # the last token of a sentence starts no pair
    left, right = ids[inside], ids.roll(-1)[inside]
    lost = torch.cat([offsets.new_zeros(1), has_tokens.cumsum(0)])
    return TokenBatch(bucket(left * 0x9E3779B97F4A7C1 + right, buckets), offsets - lost)


def word_buckets(batch: TokenBatch, word_starts: Tensor, buckets: int) -> TokenBatch:
    """The hash bucket of each word of two or more tokens; other words are their token already."""
    ids, offsets = batch
    if on_cpu(batch):
        from encoder.models.hashed_features import long_word_buckets

        found = long_word_buckets(ids.numpy(), offsets.numpy(), word_starts.numpy(), buckets, _LONGEST_WORD)
        return batch_of(found)
    if not len(ids):
        return batch
    begins = word_starts[ids]
    begins[offsets[:-1][offsets.diff() > 0]] = True  # a sentence begins with a word
    word = begins.cumsum(0) - 1  # the word of each token
    first = begins.nonzero().squeeze(1)  # the first token of each word
    place = (torch.arange(len(ids), device=ids.device) - first[word]).clamp(max=_LONGEST_WORD - 1)
    hashes = torch.zeros_like(first).index_add_(0, word, (ids + 1) * _powers(ids.device)[place])
    long = first.diff(append=first.new_tensor([len(ids)])) > 1
    words_before = torch.cat([begins.new_zeros(1, dtype=torch.int64), (begins & long[word]).cumsum(0)])
    return TokenBatch(bucket(hashes[long], buckets), words_before[offsets])


def _powers(device: torch.device) -> Tensor:
    """Odd multipliers for the places in a word; int64 wraps the same on every device."""
    return torch.full((_LONGEST_WORD,), 0x5851F42D4C957F2D, dtype=torch.int64, device=device).cumprod(0)
