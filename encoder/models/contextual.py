"""What the words of a sentence mean beside each other: a bag, and one narrow attention layer over its words.

A bag knows which words a sentence has, and next to nothing of their order. Here each word is what the bag makes of it
alone (its subwords, hashed features and spelling); attention by content and distance mixes into it the words that it
stands beside, and what comes of that, the mean over words, is added to the vector of the bag. The last matrix starts at
zero, so that training begins with the bag's own cosines.

    s = norm(W alone)             of each different word of the batch
    q, k, v, f = s W_q, s W_k, s W_v, s W_f
    h_i = silu(f_i + W_m sum_j softmax_j(q_i . k_j / sqrt(d) + bias(j - i)) v_j)     of each word of a sentence
    vector = bag + U mean_i h_i,  U = 0 at the start

All but the attention and W_m is computed once for each different word, of which a batch has a sixth of its words.
Gradients stop at `alone`: the tables of the bag learn through its mean, as without a context, and cost no more.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from encoder.models.bag import Bag, BagSettings
from encoder.models.spelling import different_words
from encoder.tokens import TokenBatch

_FEWEST_ROWS = 64  # a matrix product of fewer takes another path through the BLAS, and rounds otherwise


class ContextualSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["contextual"] = "contextual"
    bag: BagSettings = Field(
        BagSettings(words=1 << 16), description="The bag beside it; one that training starts with brings its own."
    )
    width: int = Field(128, ge=1, description="Width of the attention.")
    heads: int = Field(4, ge=1, description="Attention heads.")
    hidden: int = Field(512, ge=1, description="Width of what comes of a word and its neighbours.")
    distance: int = Field(16, ge=1, description="Words farther away than this are told apart by content alone.")

    @model_validator(mode="after")
    def _heads_divide_width(self) -> ContextualSettings:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if not self.bag.words and not self.bag.ngrams:
            raise ValueError("bag: give it `words` or `ngrams`; one of subwords alone does not know where words begin")
        return self


class ContextualBag(nn.Module):
    max_tokens: int | None = None

    def __init__(
        self,
        settings: ContextualSettings,
        vocabulary: int,
        word_starts: Tensor | None = None,
        spellings: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.dim = settings.bag.dim
        self.bag = Bag(settings.bag, vocabulary, word_starts, spellings)
        self.context = _Context(settings)

    @property
    def tokens(self) -> nn.EmbeddingBag:
        return self.bag.tokens

    def forward(self, batch: TokenBatch) -> Tensor:
        vectors: Tensor = self.bag(batch)
        if not len(batch.ids):
            return vectors
        words, sentences = different_words(batch, self.bag.word_starts)
        with torch.no_grad():
            alone = self.bag(words)
        return vectors + self.context(alone, sentences)


class _Group(NamedTuple):
    """Sentences of equally many words, which stand side by side: no padding, no mask."""

    sentences: int
    words: int


class _Context(nn.Module):
    def __init__(self, settings: ContextualSettings) -> None:
        super().__init__()
        width, hidden = settings.width, settings.hidden
        self.settings = settings
        self.inputs = nn.Linear(settings.bag.dim, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.own = nn.Linear(width, hidden)
        self.mixed = nn.Linear(width, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(settings.heads, 2 * settings.distance + 1))
        self.output = nn.Linear(hidden, settings.bag.dim, bias=False)
        if not self.output.weight.is_meta:
            nn.init.zeros_(self.output.weight)

    def forward(self, words: Tensor, sentences: TokenBatch) -> Tensor:
        """What to add to each sentence; `words` (different words, dim) are the bag's, `sentences` has them by row."""
        lengths, order = sentences.offsets.diff().sort(stable=True)
        counts, repeats = lengths.unique_consecutive(return_counts=True)
        groups = [_Group(*pair) for pair in zip(repeats.tolist(), counts.tolist(), strict=True)]
        before = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shift = (sentences.offsets[:-1][order] - before[:-1]).repeat_interleave(lengths)
        which = sentences.ids[torch.arange(len(shift), device=shift.device) + shift]  # sentences by length
        rows = [group.sentences * group.words for group in groups]

        states = self.norm(_product(self.inputs, words))
        projected = functional.embedding(which, _product(self.attention, states))  # (words, 3 width)
        near = torch.cat([self._attend(part, group) for part, group in zip(projected.split(rows), groups, strict=True)])
        own = functional.embedding(which, _product(self.own, states))
        hidden = functional.silu(own + _product(self.mixed, near))  # (words, hidden)
        means = torch.cat([_mean(part, group) for part, group in zip(hidden.split(rows), groups, strict=True)])
        added = _product(self.output, means)
        return torch.empty_like(added).index_copy(0, order, added)

    def _attend(self, projected: Tensor, group: _Group) -> Tensor:
        """Plain products: for short sentences faster than a fused kernel, by far in the backward pass on a CPU."""
        heads, far = self.settings.heads, self.settings.distance
        size = self.settings.width // heads
        query, key, value = projected.view(*group, 3, heads, size).permute(2, 0, 3, 1, 4).contiguous()
        place = torch.arange(group.words, device=projected.device)
        bias = self.bias[:, (place[None] - place[:, None]).clamp(-far, far) + far]  # (heads, words, words)
        weights = torch.softmax(query @ key.transpose(-1, -2) * size**-0.5 + bias.to(query.dtype), dim=-1)
        return (weights @ value).transpose(1, 2).reshape(len(projected), self.settings.width)


def _product(linear: nn.Linear, rows: Tensor) -> Tensor:
    """`linear(rows)`, in which what a row becomes does not depend on how many there are."""
    missing = _FEWEST_ROWS - len(rows)
    if missing <= 0 or torch.is_grad_enabled():
        return linear(rows)
    return linear(functional.pad(rows, (0, 0, 0, missing)))[: len(rows)]


def _mean(rows: Tensor, group: _Group) -> Tensor:
    return rows.view(*group, rows.shape[1]).sum(1) / max(group.words, 1)
