"""The EMS encoder (EMS, section 3.1): post-norm transformer layers with swish, masked mean of the last one."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from encoder.models.bag import Bag
from encoder.tokens import TokenBatch
from mining.errors import InputError

Preset = Literal["tiny", "small", "base", "ems"]
PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 128, "layers": 2, "heads": 4, "ffn": 512},
    "small": {"dim": 256, "layers": 3, "heads": 4, "ffn": 1024},
    "base": {"dim": 512, "layers": 6, "heads": 8, "ffn": 2048},
    "ems": {"dim": 1024, "layers": 6, "heads": 16, "ffn": 4096},
}
NORM_EPS = 1e-5


class TransformerSettings(BaseModel):
    """`preset` gives the sizes that are not given themselves.

    `zero_init` starts positions and the last matrix of every attention and feed-forward block at zero, so that each
    layer begins as the identity: with `norm="pre"` the untrained network is exactly the bag of its embeddings, with
    `norm="post"` the bag of its normalized embeddings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["transformer"] = "transformer"
    preset: Preset | None = Field(None, description="Sizes by a name; others given here win.")
    dim: int = Field(256, ge=1, description="Width.")
    layers: int = Field(3, ge=0, description="Layers.")
    heads: int = Field(4, ge=1, description="Attention heads.")
    ffn: int = Field(1024, ge=1, description="Width inside the feed-forward part.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values left out in training.")
    positions: int = Field(512, ge=1, description="Longest sentence, in tokens.")
    pooling: Literal["mean", "cls"] = Field("mean", description="How token vectors become one.")
    norm: Literal["post", "pre"] = Field("post", description="Layer norm before or after each part.")
    zero_init: bool = Field(False, description="Begin with layers that change nothing.")
    projection: bool = Field(False, description="A linear layer of the same width after pooling.")

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("preset") in PRESETS:
            return PRESETS[data["preset"]] | data
        return data

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> TransformerSettings:
        if self.dim % self.heads:
            raise ValueError(f"dim {self.dim} is not a multiple of heads {self.heads}")
        return self


class Layout(NamedTuple):
    """Where each token of a flat batch sits; `slots` and `mask` are None when all sentences are equally long."""

    sentences: int
    width: int
    slots: Tensor | None  # (total,) index of each token in the flattened (sentences, width) grid
    mask: Tensor | None  # (sentences, 1, 1, width) True at real tokens

    @classmethod
    def of(cls, lengths: Tensor) -> Layout:
        count = len(lengths)
        width = int(lengths.max()) if count else 0
        if int(lengths.sum()) == count * width:
            return cls(count, width, None, None)
        mask = torch.arange(width, device=lengths.device) < lengths[:, None]
        return cls(count, width, mask.flatten().nonzero()[:, 0], mask[:, None, None])

    def grid(self, flat: Tensor) -> Tensor:
        """(total, d) -> (sentences, width, d), zeros where there is no token."""
        if self.slots is not None:
            empty = flat.new_zeros(self.sentences * self.width, flat.shape[1])
            flat = empty.index_copy(0, self.slots, flat)
        return flat.view(self.sentences, self.width, -1)

    def flat(self, grid: Tensor) -> Tensor:
        """The inverse of `grid`."""
        flat = grid.reshape(self.sentences * self.width, -1)
        return flat if self.slots is None else flat.index_select(0, self.slots)


class Attention(nn.Module):
    """Self-attention over the sentences of a flat batch; only here are they padded."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.heads = settings.heads
        self.dropout = settings.dropout
        self.inputs = nn.Linear(settings.dim, 3 * settings.dim)
        self.output = nn.Linear(settings.dim, settings.dim)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        projected = layout.grid(self.inputs(x)).view(layout.sentences, layout.width, 3, self.heads, -1)
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # each (sentences, heads, width, dim / heads)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=layout.mask, dropout_p=dropout)
        return self.output(layout.flat(mixed.transpose(1, 2).flatten(2)))


class FeedForward(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.inputs = nn.Linear(settings.dim, settings.ffn)
        self.output = nn.Linear(settings.ffn, settings.dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(functional.silu(self.inputs(x)))


class Layer(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.post_norm = settings.norm == "post"
        self.attention = Attention(settings)
        self.attention_norm = nn.LayerNorm(settings.dim, eps=NORM_EPS)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_norm = nn.LayerNorm(settings.dim, eps=NORM_EPS)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        if self.post_norm:
            x = self.attention_norm(x + self.dropout(self.attention(x, layout)))
            return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        x = x + self.dropout(self.attention(self.attention_norm(x), layout))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Transformer(nn.Module):
    """Flat token ids in, sentence vectors out; every matrix product but attention runs without padding."""

    def __init__(self, settings: TransformerSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.dim = settings.dim
        self.max_tokens = settings.positions
        self.tokens = nn.Embedding(vocabulary, settings.dim)
        self.positions = nn.Embedding(settings.positions, settings.dim)
        self.norm = nn.LayerNorm(settings.dim, eps=NORM_EPS) if settings.norm == "post" else None
        self.dropout = nn.Dropout(settings.dropout)
        self.layers = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        self.projection = nn.Linear(settings.dim, settings.dim) if settings.projection else nn.Identity()
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.dim**-0.5)
        if self.settings.zero_init:
            nn.init.zeros_(self.positions.weight)
            for block in self.modules():
                if isinstance(block, Attention | FeedForward):
                    nn.init.zeros_(block.output.weight)

    def grow_from(self, bag: Bag, scale: float = 1.0) -> None:
        """Start from the embeddings of a trained bag with the same vocabulary and width, `scale` times as long."""
        if bag.settings.bigrams or bag.settings.words:
            raise InputError("a transformer cannot grow from a bag with bigrams or words, which it has no place for")
        if self.tokens.weight.shape != bag.tokens.weight.shape:
            raise InputError(
                f"a transformer with embeddings {tuple(self.tokens.weight.shape)} cannot grow from a bag with "
                f"{tuple(bag.tokens.weight.shape)}; give both the same dim and SentencePiece model"
            )
        with torch.no_grad():
            self.tokens.weight.copy_(bag.tokens.weight * scale)

    def forward(self, batch: TokenBatch) -> Tensor:
        lengths = batch.offsets.diff()
        if not len(batch.ids):
            return self.tokens.weight.new_zeros(len(lengths), self.dim)
        layout = Layout.of(lengths)
        if layout.width > self.max_tokens:
            raise InputError(
                f"a sentence of {layout.width} tokens is longer than the {self.max_tokens} positions of the encoder; "
                f"truncate it or train with more positions"
            )
        x = self._embed(batch, lengths)  # (total, dim)
        for layer in self.layers:
            x = layer(x, layout)
        return self.projection(self._pool(x, batch.offsets, lengths))

    def _embed(self, batch: TokenBatch, lengths: Tensor) -> Tensor:
        starts = batch.offsets[:-1].repeat_interleave(lengths, output_size=len(batch.ids))
        position = torch.arange(len(batch.ids), device=batch.ids.device) - starts
        x = self.tokens(batch.ids) + self.positions(position)
        return self.dropout(x if self.norm is None else self.norm(x))

    def _pool(self, x: Tensor, offsets: Tensor, lengths: Tensor) -> Tensor:
        if self.settings.pooling == "mean":
            return segment_mean(x, lengths)
        filled = lengths > 0
        vectors = x.new_zeros(len(lengths), x.shape[1])
        return vectors.index_copy(0, filled.nonzero()[:, 0], x[offsets[:-1][filled]])


def segment_mean(x: Tensor, lengths: Tensor) -> Tensor:
    """Mean of consecutive runs of rows (EMS, equation 1); an empty run gives zeros."""
    rows = torch.arange(len(lengths), device=x.device).repeat_interleave(lengths, output_size=len(x))
    sums = x.new_zeros(len(lengths), x.shape[1]).index_add(0, rows, x)
    return sums / lengths.clamp(min=1)[:, None]
