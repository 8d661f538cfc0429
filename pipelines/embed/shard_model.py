"""Embedding as Beam's RunInference knows it: the model is an encoder, an example is a shard of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apache_beam.ml.inference.base import ModelHandler

from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.shard_embedder import NAMESPACE, MadeShard, ShardEmbedder, ShardToEmbed, encoder_of
from pipelines.embed.vector_shards import EncoderIdentity


class ShardModel(ModelHandler[ShardToEmbed, "MadeShard | None", "ShardEmbedder"]):
    """Loads the encoder of the settings; with an accelerator the worker processes of a machine share one."""

    def __init__(self, settings: EmbedSettings, facts: EncoderIdentity) -> None:
        super().__init__(large_model=settings.accelerator is not None)
        self.settings, self.facts = settings, facts

    def load_model(self) -> ShardEmbedder:
        return ShardEmbedder(self.settings, self.facts, encoder_of(self.settings))

    def run_inference(
        self, batch: Sequence[ShardToEmbed], model: ShardEmbedder, inference_args: dict[str, Any] | None = None
    ) -> Iterable[MadeShard | None]:
        return [model.make(item) for item in batch]

    def get_num_bytes(self, batch: Sequence[ShardToEmbed]) -> int:
        return 0  # of descriptors: the sentences are in files

    def get_metrics_namespace(self) -> str:
        return NAMESPACE
