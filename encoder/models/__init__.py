"""Sentence models: one interface, `forward(TokenBatch) -> (batch, dim)`, chosen by `kind` in the settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from encoder.models.bag import Bag, BagSettings
from encoder.models.pretrained import Pretrained, PretrainedSettings
from encoder.models.transformer import Transformer, TransformerSettings

ModelSettings = Annotated[TransformerSettings | BagSettings | PretrainedSettings, Field(discriminator="kind")]
SentenceModel = Transformer | Bag | Pretrained

__all__ = [
    "Bag",
    "BagSettings",
    "ModelSettings",
    "Pretrained",
    "PretrainedSettings",
    "SentenceModel",
    "Transformer",
    "TransformerSettings",
    "build_model",
]


def build_model(
    settings: TransformerSettings | BagSettings | PretrainedSettings,
    vocabulary: int,
    word_starts: Tensor | None = None,
    spellings: Tensor | None = None,
) -> nn.Module:
    """The model that `settings` describe; a pretrained one brings its own vocabulary.

    `word_starts` (vocabulary,) says which tokens begin a word, `spellings` (vocabulary, letters) how they are
    romanised; a model that is loaded from a checkpoint finds both there.
    """
    match settings:
        case TransformerSettings():
            return Transformer(settings, vocabulary)
        case BagSettings():
            return Bag(settings, vocabulary, word_starts, spellings)
        case PretrainedSettings():
            return Pretrained.load(settings)
