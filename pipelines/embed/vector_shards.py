"""Shards of vectors, whichever way they were made: their request, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import JsonValue

from mining.vectors import write_vectors
from pipelines.datasets.manifest import SENTENCES, Counters, Dataset, Input, Request, Shard, fingerprint
from pipelines.datasets.work import Work, new_name

VERSION = "2"  # to be raised with every change of the code that changes vectors


class EncoderIdentity(NamedTuple):
    """What of an encoder decides its vectors and how they fit others."""

    fingerprint: str
    dim: int
    text: str | None  # fingerprint of its subwords; None where it brings a tokenizer of its own
    weights: int = 0  # bytes; they decide nothing but the memory to ask for


def vectors_request(
    sentences: Dataset,
    out: str,
    facts: EncoderIdentity,
    dtype: str,
    files: Sequence[Input] = (),
    compute_dtype: str = "float32",
) -> Request:
    """What a vectors dataset is made of; `files` are those that vectors were taken from instead of an encoder."""
    configuration: dict[str, JsonValue] = {"encoder": facts.fingerprint, "dim": facts.dim, "dtype": dtype}
    if compute_dtype != "float32":
        configuration["compute_dtype"] = compute_dtype
    inputs = [sentences.as_input(SENTENCES, out), *files]
    return Request(kind="vectors", configuration=configuration, inputs=inputs, versions={"embed": VERSION})


def write_vector_shard(
    work: Work, index: int, ids: np.ndarray, vectors: np.ndarray, facts: EncoderIdentity, text: str
) -> Shard:
    """The file of a shard; `text` is the fingerprint of the sentences."""
    metadata = {"encoder": facts.fingerprint, "text": text, "normalised": "false"}
    name = new_name(index, "arrow")
    write_vectors(work.place(name), ids, vectors, metadata)
    counters = Counters(rows_in=len(ids), kept=len(ids))
    return Shard(
        index=index, name=name, rows=len(ids), digest=fingerprint(_bytes(ids), _bytes(vectors)), counters=counters
    )


def _bytes(array: np.ndarray) -> memoryview:
    """The memory of an array, to be read without the copy that `tobytes` makes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
