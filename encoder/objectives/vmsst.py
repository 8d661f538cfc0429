"""VMSST: translate from the sentence vector alone, with meaning and language separated by a variational bound.

Formula: translation * (log p(x_i | mu_sem_j) + log p(x_j | mu_sem_i)) + elbo * ELBO, maximised (section 4), where
ELBO = log p(x_i | z_sem, z_i) + log p(x_j | z_sem, z_j) - weight * (KL(z_sem) + KL(z_i) + KL(z_j)).
Data: pairs. When: similarity and retrieval by plain cosine matter more than telling near-translations apart.
Reference: Wieting et al., "Beyond Contrastive Learning: A Variational Generative Model for Multilingual Retrieval".

mu_sem is the sentence vector itself; the paper's projection is the encoder's own (`model.projection: true`), so that
training and use agree. Open in the paper, and decided here: the translation terms have the language variable at its
prior mean, zero; variances start small (`log_variance`), as from 1 the bound would learn to decode noise for long; and
of a pretrained decoder the cross-attention is left out, its output matrix scores the decoder's part of the states.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from encoder.batch import Batch, DataShape, slice_tokens
from encoder.models.transformer import TransformerSettings
from encoder.objectives.contrastive import dot_product_loss, pair_keys
from encoder.objectives.objective import EncoderFacts, Loss, Objective
from encoder.objectives.vmsst_divided import DividedDecoder, DividedLanguage, networks_wanted
from encoder.objectives.vmsst_networks import (
    Decoder,
    Embeddings,
    Gaussian,
    SharedLanguage,
    TransformerDecoder,
    TransformerLanguage,
    start_variances,
)
from encoder.objectives.vmsst_t5 import T5Decoder, T5Language, t5_networks
from encoder.settings import Settings
from encoder.tokens import TokenBatch

OneLanguage = TransformerLanguage | T5Language | SharedLanguage
_ACTIVE_VARIANCE = 0.01  # of the posterior mean over a batch (Burda et al. 2016)
_FEW_ACTIVE = 0.05


class VmsstSettings(Settings):
    """Defaults are the paper's, from scratch, with the one-layer decoder that it found best at 24 layers (Table 4).

    With `networks: pretrained` the language network and the decoder are those of the T5 or mT5 that is the encoder,
    with its vocabulary, layers and positions; all share one table of token embeddings. `decoder_layers` are its first.

    The ablations of Table 4, in order: `factored`, `language_encoders: 4`, `decoder_layers`, `kl: 0`,
    `one_encoder: true`, `encoder_language: false`, `decoder_language: false`. Table 6, where languages share nothing
    but the encoder of the meaning and the token embeddings: `language_encoders: 0, decoders: 0`.

    Baselines: CONTRASTIVE `translation: 0, elbo: 0, contrastive: 1`; BITRANSLATION `elbo: 0`; VMSST CONTRASTIVE
    `contrastive: 1, translation: 0.0005, elbo: 0.00005` (lambda times VMSST).
    """

    kind: Literal["vmsst"] = "vmsst"
    translation: float = Field(1.0, ge=0, description="Weight of translation from the vector alone.")
    elbo: float = Field(0.1, ge=0, description="Lambda: weight of the evidence lower bound; 0.025 when pretrained.")
    contrastive: float = Field(0.0, ge=0, description="Weight of the in-batch contrastive loss on dot products.")
    kl: float = Field(
        0.1,
        ge=0,
        description="KL weight at the end, rising linearly: 100,000 of the paper's 1,000,000 annealing steps.",
    )
    log_variance: float = Field(-5.0, description="Of both variables at the start.")
    networks: Literal["new", "pretrained"] = Field("new", description="Where language network and decoder come from.")
    factored: bool = Field(False, description="Map the decoder's states and variables to its width before the output.")
    one_encoder: bool = Field(False, description="The language variable, too, comes from the sentence vector.")
    encoder_language: bool = Field(True, description="Tell the language network which language it reads.")
    decoder_language: bool = Field(True, description="Tell the decoder which language to write.")
    language_encoders: int = Field(
        1, ge=0, description="Networks among which languages are divided at random; 0 for one a language."
    )
    decoders: int = Field(1, ge=0, description="Decoders among which they are divided; 0 for one a language.")
    decoder_layers: int = Field(1, ge=1, description="Layers of the decoder.")
    language_layers: int = Field(1, ge=0, description="Layers of the network for the language variable.")
    heads: int = Field(4, ge=1, description="Attention heads of both.")
    ffn: int = Field(1024, ge=1, description="Width inside their feed-forward parts.")
    positions: int = Field(512, ge=2, description="Longest sentence, in tokens, and one more.")
    negatives: int = Field(
        0, ge=0, description="Score the batch's tokens and this many random others; 0 scores the whole vocabulary."
    )
    chunk: int = Field(0, ge=0, description="Decode this many sentences at a time, twice, to save memory; 0 for all.")

    @property
    def shape(self) -> DataShape:
        return "pairs"

    @model_validator(mode="after")
    def _something_to_learn(self) -> VmsstSettings:
        if not (self.translation or self.elbo or self.contrastive):
            raise ValueError("translation, elbo and contrastive are all 0, so there is nothing to learn; weigh one")
        return self

    @model_validator(mode="after")
    def _one_way_to_the_language(self) -> VmsstSettings:
        if self.one_encoder and self.language_encoders != 1:
            raise ValueError("one_encoder leaves no language_encoders to divide languages among; choose one of the two")
        return self


class Vmsst(Objective):
    def __init__(self, settings: VmsstSettings, encoder: EncoderFacts) -> None:
        super().__init__()
        self.settings, self.shape = settings, settings.shape
        self.decoder: Decoder | DividedDecoder | None = None
        self.language: OneLanguage | DividedLanguage | None = None
        if settings.translation or settings.elbo:
            self._build(settings, encoder)

    def _build(self, settings: VmsstSettings, encoder: EncoderFacts) -> None:
        width = encoder.dim if encoder.embedding is None else encoder.embedding.shape[1]
        self.embeddings = Embeddings(encoder.vocabulary, width, settings.positions, encoder.embedding)
        languages = len(encoder.languages)
        build = partial(_build_decoder, settings, encoder, width)
        count = networks_wanted("decoders", settings.decoders, languages)
        self.decoder = build() if count == 1 else DividedDecoder(build, count, languages)
        if not settings.elbo:
            return
        self.log_variance = nn.Linear(encoder.dim, encoder.dim)
        start_variances(self.log_variance, settings.log_variance)
        build_language = partial(_build_language, settings, encoder, width)
        count = networks_wanted("language_encoders", settings.language_encoders, languages)
        self.language = build_language() if count == 1 else DividedLanguage(build_language, count, languages)

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        total = vectors.new_zeros(())
        parts: dict[str, Tensor] = {}
        if self.settings.translation:
            swapped = vectors.roll(batch.examples, 0)  # each sentence from its translation's vector
            parts["translation"] = self._decode(swapped, None, batch) / batch.examples
            total = total + self.settings.translation * parts["translation"]
        if self.settings.elbo:
            bound, details = self._negative_elbo(vectors, batch, progress)
            total = total + self.settings.elbo * bound
            parts |= details
        if self.settings.contrastive:
            left, right = vectors.chunk(2)
            both_ways, parts["batch_p_at_1"] = dot_product_loss(left, right, pair_keys(batch), 1.0)
            parts["contrastive"] = both_ways / 2  # the mean of the directions, section 6.3
            total = total + self.settings.contrastive * parts["contrastive"]
        return Loss(total, {name: part.detach() for name, part in parts.items()})

    def _negative_elbo(self, vectors: Tensor, batch: Batch, progress: float) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = batch.examples
        semantic = Gaussian(vectors, self.log_variance(vectors))
        language = self._language(vectors, batch)
        side = torch.arange(pairs, device=vectors.device) % 2  # alternating within the batch
        chosen = torch.arange(pairs, device=vectors.device) + pairs * side
        semantic = Gaussian(semantic.mean[chosen], semantic.log_variance[chosen])
        meaning = semantic.sample()
        reconstruction = self._decode(torch.cat([meaning, meaning]), language.sample(), batch) / pairs
        kl_semantic, kl_language = semantic.kl().mean(), language.kl().sum() / pairs
        bound = reconstruction + self.settings.kl * progress * (kl_semantic + kl_language)
        return bound, {
            "reconstruction": reconstruction,
            "kl_semantic": kl_semantic,
            "kl_language": kl_language,
            "active_semantic": active_units(semantic.mean),
            "active_language": active_units(language.mean),
        }

    def _language(self, vectors: Tensor, batch: Batch) -> Gaussian:
        if isinstance(self.language, SharedLanguage):
            return self.language(vectors)
        assert self.language is not None
        return self.language(batch.tokens, batch.language, self.embeddings)

    def _decode(self, semantic: Tensor, language: Tensor | None, batch: Batch) -> Tensor:
        """-log p of all sentences of the batch, summed, from one row of latent variables each."""
        if self.settings.elbo:
            language = torch.zeros_like(semantic) if language is None else language
            semantic = torch.cat([semantic, language], dim=1)
        count, chunk = batch.sentences, self.settings.chunk
        if not chunk or chunk >= count:
            return self._decode_some(semantic, batch.tokens, batch.language)
        total = semantic.new_zeros(())
        for start in range(0, count, chunk):
            rows = slice(start, min(start + chunk, count))
            tokens = slice_tokens(batch.tokens, rows.start, rows.stop)
            some = checkpoint(self._decode_some, semantic[rows], tokens, batch.language[rows], use_reentrant=False)
            total = total + some
        return total

    def _decode_some(self, latent: Tensor, tokens: TokenBatch, language: Tensor) -> Tensor:
        assert self.decoder is not None
        return self.decoder(latent, tokens, language, self.embeddings, self.settings.negatives)

    def warning(self, parts: dict[str, float]) -> str | None:
        active = parts.get("active_semantic")
        if active is None or active >= _FEW_ACTIVE:
            return None
        return (
            f"posterior collapse: only {100 * active:.0f}% of the semantic variables are active "
            f"(KL {parts['kl_semantic']:.2f}); lower objective.kl or objective.elbo, or raise objective.translation"
        )


def _build_decoder(settings: VmsstSettings, encoder: EncoderFacts, width: int) -> Decoder:
    condition = encoder.dim * (2 if settings.elbo else 1)
    told = len(encoder.languages) if settings.decoder_language else 1
    if settings.networks == "pretrained":
        source, trained = t5_networks(encoder.pretrained)
        return T5Decoder(
            source,
            settings.decoder_layers,
            encoder.vocabulary,
            condition,
            told,
            factored=settings.factored,
            trained=trained,
        )
    layers = _layers(settings, width, settings.decoder_layers)
    return TransformerDecoder(layers, encoder.vocabulary, condition, told, factored=settings.factored)


def _build_language(settings: VmsstSettings, encoder: EncoderFacts, width: int) -> OneLanguage:
    told = len(encoder.languages) if settings.encoder_language else 1
    network: OneLanguage
    if settings.one_encoder:
        network = SharedLanguage(encoder.dim)
    elif settings.networks == "pretrained":
        network = T5Language(t5_networks(encoder.pretrained).model, encoder.dim, told)
    else:
        network = TransformerLanguage(_layers(settings, width, settings.language_layers), encoder.dim, told)
    start_variances(network.gaussian, settings.log_variance, encoder.dim)
    return network


def _layers(settings: VmsstSettings, width: int, count: int) -> TransformerSettings:
    return TransformerSettings(layers=count, dim=width, heads=settings.heads, ffn=settings.ffn, dropout=0.0)


def active_units(mean: Tensor) -> Tensor:
    """Share of latent variables whose posterior mean varies with the sentence."""
    return (mean.detach().var(0, unbiased=False) > _ACTIVE_VARIANCE).float().mean()
