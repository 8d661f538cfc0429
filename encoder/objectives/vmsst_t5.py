"""VMSST's language network and decoder as T5 and mT5 have them (section 6.4): their layers, positions and weights."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoder.models import Pretrained
from encoder.models.transformer import Layout
from encoder.objectives.vmsst_networks import Decoder, Embeddings, Gaussian, LanguageEmbedding
from encoder.tokens import TokenBatch
from mining.errors import InputError


class T5Networks(NamedTuple):
    """A whole model, with its decoder."""

    model: Any
    trained: bool  # else its weights are random


def t5_networks(encoder: Pretrained | None) -> T5Networks:
    """The model of which `encoder` is the encoder; with random weights, one like it."""
    model = encoder and encoder.whole()
    if encoder is None or model is None or not hasattr(model, "decoder") or not hasattr(model.decoder, "block"):
        raise InputError(
            "objective.networks: pretrained needs a T5 or mT5 as encoder, which brings a decoder; choose one for "
            "model.source, or networks: new"
        )
    return T5Networks(model, encoder.settings.weights)


class T5Language(nn.Module):
    """q(z_l | x): the encoder of `source` over tokens and a language embedding, mean, projection to a Gaussian."""

    def __init__(self, source: Any, latent: int, languages: int) -> None:
        super().__init__()
        self.stack = _without_table(source.get_encoder())
        width = source.config.d_model
        self.language = LanguageEmbedding(languages, width)
        self.gaussian = nn.Linear(width, 2 * latent)

    def forward(self, tokens: TokenBatch, language: Tensor, embeddings: Embeddings) -> Gaussian:
        layout = Layout.of(tokens.offsets.diff())
        inputs = layout.grid(functional.embedding(tokens.ids, embeddings.table)) + self.language(language)[:, None]
        mask = _mask(layout, inputs)
        states = self.stack(inputs_embeds=inputs, attention_mask=mask).last_hidden_state
        mean, log_variance = self.gaussian((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).chunk(2, 1)
        return Gaussian(mean, log_variance)


class Injection(nn.Module):
    """Stands where cross-attention was, and adds a projection of the latent variables, which come as its keys."""

    def __init__(self, condition: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(condition, width)

    def forward(self, hidden_states: Tensor, key_value_states: Tensor, **others: Any) -> tuple[Tensor, None, None]:
        return hidden_states + self.linear(key_value_states), None, None


class T5Decoder(Decoder):
    """The first layers of the decoder; its output matrix, if `trained`, begins as the part of ours that scores hidden
    states. One with random weights has entries of 1, and scores hundreds of nats beside the truth."""

    def __init__(
        self,
        source: Any,
        layers: int,
        vocabulary: int,
        condition: int,
        languages: int,
        *,
        factored: bool = False,
        trained: bool = True,
    ) -> None:
        width = source.config.d_model
        super().__init__(width, vocabulary, condition, languages, factored=factored)
        self.stack = _without_table(source.decoder)
        self.stack.block = self.stack.block[:layers]
        for block in self.stack.block:
            block.layer[1] = Injection(condition, width)
        if trained:
            self._take_output(source)

    def _take_output(self, source: Any) -> None:
        output, config = source.lm_head.weight, source.config
        rows = min(self.vocabulary, len(output))
        scale = config.d_model**-0.5 if getattr(config, "scale_decoder_outputs", False) else 1.0  # T5, not mT5
        with torch.no_grad():
            self.output[:rows, : config.d_model] = output[:rows] * scale

    def embed(self, embeddings: Embeddings, tokens: TokenBatch) -> Tensor:
        return functional.embedding(tokens.ids, embeddings.table)  # positions are relative, inside attention

    def states(self, x: Tensor, lengths: Tensor, latent: Tensor) -> Tensor:
        layout = Layout.of(lengths)
        grid = layout.grid(x)
        # What follows a sentence is padding, which no earlier position sees.
        states = self.stack(inputs_embeds=grid, encoder_hidden_states=latent[:, None], use_cache=False)
        return layout.flat(states.last_hidden_state)


def _mask(layout: Layout, inputs: Tensor) -> Tensor:
    """(sentences, width) 1 at tokens."""
    return inputs.new_ones(inputs.shape[:2]) if layout.mask is None else layout.mask[:, 0, 0].to(inputs.dtype)


def _without_table(stack: Any) -> Any:
    """A copy that has no token embeddings, as it is given vectors."""
    table, stack.embed_tokens = stack.embed_tokens, nn.Identity()
    try:
        return copy.deepcopy(stack)
    finally:
        stack.embed_tokens = table
