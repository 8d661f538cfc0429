"""Vectors that exist already, as the dataset that `embed` would make of the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mining.errors import InputError
from mining.vectors import take_rows
from pipelines.datasets.manifest import Counters, Dataset, Input
from pipelines.datasets.sentences import read_shard
from pipelines.datasets.work import begin, place_for
from pipelines.embed.vector_shards import EncoderIdentity, vectors_request, write_vector_shard


class GivenVectors(NamedTuple):
    """Where the vectors of sentences are: row `rows[i]` of `stored`, often a map of a file, is that of sentence `i`."""

    stored: np.ndarray
    rows: np.ndarray
    files: Sequence[Input] = ()


def store_vectors(sentences: Dataset, given: GivenVectors, facts: EncoderIdentity, dtype: str) -> Dataset:
    """The vectors dataset beside the sentences, copied one shard at a time."""
    if len(given.rows) != sentences.rows or given.stored.shape[1] != facts.dim:
        raise InputError(
            f"{sentences.url} has {sentences.rows:,} sentences and the encoder {facts.dim} dimensions, but the vectors "
            f"given are {len(given.rows):,} x {given.stored.shape[1]}"
        )
    out = f"{sentences.url}-vectors"
    request = vectors_request(sentences, out, facts, dtype, given.files)
    work = begin(place_for(out, request), request)
    if isinstance(work, Dataset):
        return work
    shards, first = [], 0
    for shard in sentences.shards:
        made = work.finished(shard.index)
        if made is None:
            ids = read_shard(sentences.place(shard), ["id"], shard.checksum)["id"].to_numpy()
            rows = take_rows(given.stored, given.rows[first : first + shard.rows], dtype)
            made = work.note(write_vector_shard(work, shard.index, ids, rows, facts, sentences.fingerprint))
        shards.append(made)
        first += shard.rows
    return work.complete(shards, sum((shard.counters for shard in shards), Counters()))
