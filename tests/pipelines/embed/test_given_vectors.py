"""Vectors that exist already become the dataset that embedding would make."""

from pathlib import Path

import numpy as np
import pytest

from encoder import Encoder
from mining.errors import InputError
from pipelines.datasets.sentences import read_shard
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.given_vectors import GivenVectors, store_vectors
from pipelines.embed.shard_embedder import facts_of
from pipelines.embed.vector_stage import embed
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import prepare
from tests.pipelines.corpora import write_corpora, write_encoder


def test_given_vectors_are_those_that_embedding_makes(tmp_path: Path) -> None:
    write_corpora(tmp_path, 40)
    encoder = Encoder.load(write_encoder(tmp_path / "encoder"))
    read = ReadSettings(lang="en")
    source = PrepareSettings(
        inputs=[str(tmp_path / "src.txt")],
        out=str(tmp_path / "src"),
        read=read,
        lang_filter="assume",
        rows_per_shard=15,
    )
    sentences = prepare(source)
    texts = [t for s in sentences.shards for t in read_shard(sentences.shard_url(s))["text"].to_pylist()]
    vectors = encoder.encode(texts, "en")
    settings = EmbedSettings(sentences=sentences.url, encoder=str(tmp_path / "encoder"), out=str(tmp_path / "made"))
    everything = np.arange(len(vectors))
    with pytest.raises(InputError, match="but the vectors given are 3 x 16"):
        store_vectors(sentences, GivenVectors(vectors, everything[:3]), facts_of(encoder), "float32")
    given = store_vectors(sentences, GivenVectors(vectors, everything), facts_of(encoder), "float32")
    made = embed(settings)
    assert given.fingerprint == made.fingerprint
    assert [shard.digest for shard in given.shards] == [shard.digest for shard in made.shards]
    mirrored = GivenVectors(vectors[::-1], everything[::-1])
    assert store_vectors(sentences, mirrored, facts_of(encoder), "float32") == given
