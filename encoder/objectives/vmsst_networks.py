"""The networks that VMSST trains beside the encoder: the language inference network and the decoder (section 5)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoder.models.transformer import (
    NORM_EPS,
    Attention,
    FeedForward,
    Layer,
    Layout,
    TransformerSettings,
    segment_mean,
)
from encoder.objectives.xtr import reconstruction_loss, sample_candidates
from encoder.tokens import TokenBatch


class Gaussian(NamedTuple):
    """Independent normal distributions, one a row."""

    mean: Tensor
    log_variance: Tensor

    def sample(self) -> Tensor:
        return self.mean + (0.5 * self.log_variance).exp() * torch.randn_like(self.mean)

    def kl(self) -> Tensor:
        """(rows,) divergence from N(0, I)."""
        return 0.5 * (self.mean.square() + self.log_variance.exp() - 1 - self.log_variance).sum(1)


class Embeddings(nn.Module):
    """Token and position embeddings; the token table is the encoder's own where it has one."""

    def __init__(self, vocabulary: int, width: int, positions: int, shared: nn.Parameter | None) -> None:
        super().__init__()
        self.table = shared if shared is not None else nn.Parameter(torch.randn(vocabulary, width) * width**-0.5)
        self.positions = nn.Embedding(positions, width)
        nn.init.normal_(self.positions.weight, std=width**-0.5)

    def forward(self, ids: Tensor, position: Tensor) -> Tensor:
        return functional.embedding(ids, self.table) + self.positions(position)


class LanguageEmbedding(nn.Embedding):
    """One row a language; a single row, for all, where the language is not to be told."""

    def forward(self, language: Tensor) -> Tensor:
        return super().forward(language if self.num_embeddings > 1 else torch.zeros_like(language))


class TransformerLanguage(nn.Module):
    """q(z_l | x): transformer layers over tokens and a language embedding, mean, projection to a Gaussian."""

    def __init__(self, layers: TransformerSettings, latent: int, languages: int) -> None:
        super().__init__()
        self.language = LanguageEmbedding(languages, layers.dim)
        self.norm = nn.LayerNorm(layers.dim, eps=NORM_EPS)
        self.layers = nn.ModuleList(Layer(layers) for _ in range(layers.layers))
        self.gaussian = nn.Linear(layers.dim, 2 * latent)

    def forward(self, tokens: TokenBatch, language: Tensor, embeddings: Embeddings) -> Gaussian:
        lengths = tokens.offsets.diff()
        x = embeddings(tokens.ids, within(tokens)) + self.language(language).repeat_interleave(lengths, dim=0)
        x, layout = self.norm(x), Layout.of(lengths)
        for layer in self.layers:
            x = layer(x, layout)
        mean, log_variance = self.gaussian(segment_mean(x, lengths)).chunk(2, dim=1)
        return Gaussian(mean, log_variance)


class SharedLanguage(nn.Module):
    """The ablation with one encoder: q(z_l | x) from the vector that has the meaning, too."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gaussian = nn.Linear(dim, 2 * dim)

    def forward(self, vectors: Tensor) -> Gaussian:
        return Gaussian(*self.gaussian(vectors).chunk(2, dim=1))


class DecoderLayer(nn.Module):
    """A post-norm layer in which a projection of the latent variables stands where cross-attention would be."""

    def __init__(self, settings: TransformerSettings, condition: int) -> None:
        super().__init__()
        self.attention = Attention(settings)
        self.condition = nn.Linear(condition, settings.dim)
        self.feed_forward = FeedForward(settings)
        self.norms = nn.ModuleList(nn.LayerNorm(settings.dim, eps=NORM_EPS) for _ in range(3))

    def forward(self, x: Tensor, layout: Layout, latent: Tensor, lengths: Tensor) -> Tensor:
        x = self.norms[0](x + self.attention(x, layout))
        x = self.norms[1](x + self.condition(latent).repeat_interleave(lengths, dim=0))
        return self.norms[2](x + self.feed_forward(x))


class Decoder(nn.Module):
    """p(x | z): tokens from latent variables, which enter in each layer and again before the output projection.

    The first input names the language, the last output is the end of the sentence: row `vocabulary` of the output.
    """

    def __init__(self, width: int, vocabulary: int, condition: int, languages: int, *, factored: bool = False) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.start = LanguageEmbedding(languages, width)
        scored = width if factored else width + condition
        self.factor = nn.Linear(width + condition, width) if factored else nn.Identity()
        self.output = nn.Parameter(torch.randn(vocabulary + 1, scored) * scored**-0.5)

    def states(self, x: Tensor, lengths: Tensor, latent: Tensor) -> Tensor:
        """(tokens, width) inputs of sentences to the states that, with `latent`, predict what comes next."""
        raise NotImplementedError

    def forward(
        self, latent: Tensor, tokens: TokenBatch, language: Tensor, embeddings: Embeddings, negatives: int
    ) -> Tensor:
        """-log p(x | z) summed over tokens and sentences; the vocabulary is scored a few positions at a time.

        With `negatives`, scored are the tokens of `tokens` and this many random others.
        """
        lengths = tokens.offsets.diff() + 1
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        targets = tokens.ids.new_full((int(offsets[-1]),), self.vocabulary)
        is_token = torch.ones_like(targets, dtype=torch.bool)
        is_token[offsets[1:] - 1] = False
        targets[is_token] = tokens.ids
        x = self.states(self._inputs(tokens, language, embeddings, offsets), lengths, latent)
        hidden = self.factor(torch.cat([x, latent.repeat_interleave(lengths, dim=0)], dim=1))
        each = torch.arange(len(targets) + 1, device=x.device)
        candidates = sample_candidates(targets, self.vocabulary + 1, negatives) if negatives else None
        return reconstruction_loss(hidden, self.output, TokenBatch(targets, each), candidates)

    def _inputs(self, tokens: TokenBatch, language: Tensor, embeddings: Embeddings, offsets: Tensor) -> Tensor:
        is_start = torch.zeros(int(offsets[-1]), dtype=torch.bool, device=offsets.device)
        is_start[offsets[:-1]] = True
        first = self.start(language)
        rest = self.embed(embeddings, tokens)
        x = first.new_empty(len(is_start), first.shape[1])
        places = torch.cat([is_start.nonzero()[:, 0], (~is_start).nonzero()[:, 0]])
        return x.index_copy(0, places, torch.cat([first, rest]))

    def embed(self, embeddings: Embeddings, tokens: TokenBatch) -> Tensor:
        """Inputs of all tokens; the start of the sentence is before the first."""
        return embeddings(tokens.ids, within(tokens) + 1)


class TransformerDecoder(Decoder):
    """With layers of its own."""

    def __init__(
        self, layers: TransformerSettings, vocabulary: int, condition: int, languages: int, *, factored: bool = False
    ) -> None:
        super().__init__(layers.dim, vocabulary, condition, languages, factored=factored)
        self.norm = nn.LayerNorm(layers.dim, eps=NORM_EPS)
        self.layers = nn.ModuleList(DecoderLayer(layers, condition) for _ in range(layers.layers))

    def states(self, x: Tensor, lengths: Tensor, latent: Tensor) -> Tensor:
        x, layout = self.norm(x), Layout.of(lengths)
        # A later position is never seen, and what follows a sentence is only padding: no other mask is needed.
        causal = torch.ones(layout.width, layout.width, dtype=torch.bool, device=x.device).tril()
        layout = layout._replace(mask=causal)
        for layer in self.layers:
            x = layer(x, layout, latent, lengths)
        return x


def start_variances(layer: nn.Linear, log_variance: float, first: int = 0) -> None:
    """Have the outputs of `layer` from `first` on begin near `log_variance`."""
    with torch.no_grad():
        layer.bias[first:] = log_variance


def within(tokens: TokenBatch) -> Tensor:
    """The place of each token in its sentence."""
    lengths = tokens.offsets.diff()
    starts = tokens.offsets[:-1].repeat_interleave(lengths, output_size=len(tokens.ids))
    return torch.arange(len(tokens.ids), device=tokens.ids.device) - starts
