"""Vectors that exist already, as the dataset that `embed` would make of the same sentences."""

from __future__ import annotations

import numpy as np

from mining.errors import InputError
from pipelines.datasets.manifest import Counters, Dataset, open_dataset
from pipelines.datasets.sentences import read_shard
from pipelines.embed.vector_stage import EmbedSettings, EncoderFacts, start, write_vector_shard


def store_vectors(settings: EmbedSettings, facts: EncoderFacts, vectors: np.ndarray) -> Dataset:
    """Row `i` of `vectors` is the vector of the dataset's sentence `i`, in the order of its shards."""
    sentences = open_dataset(settings.sentences, "sentences")
    if vectors.shape != (sentences.rows, facts.dim):
        raise InputError(
            f"{sentences.url} has {sentences.rows:,} sentences and the encoder {facts.dim} dimensions, but the vectors "
            f"given are {vectors.shape[0]:,} x {vectors.shape[1]}"
        )
    work = start(settings, facts)
    if isinstance(work, Dataset):
        return work
    shards, first = [], 0
    for shard in sentences.shards:
        ids = read_shard(sentences.place(shard), ["id"], shard.checksum)["id"].to_numpy()
        rows = vectors[first : first + shard.rows].astype(settings.dtype, copy=False)
        made = write_vector_shard(work, shard.index, ids, rows, facts, sentences.fingerprint)
        shards.append(work.note(made))
        first += shard.rows
    return work.complete(shards, sum((shard.counters for shard in shards), Counters()))
