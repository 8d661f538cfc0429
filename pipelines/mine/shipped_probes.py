"""Probe pairs that come with the default encoder, as vectors: used like seed pairs, but without text."""

from __future__ import annotations

import numpy as np

from encoder import default
from mining.errors import InputError
from mining.probes import FEWEST_PAIRS, plan_vectors
from pipelines.datasets.manifest import SEED, Input
from pipelines.embed.given_vectors import GivenVectors, store_vectors
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.mine.pair_search import EmbeddedText
from pipelines.mine.probe_pairs import ProbeSide, write_probes


def add_shipped_probes(
    source: ProbeSide, target: ProbeSide, facts: EncoderIdentity, dtype: str
) -> tuple[EmbeddedText, EmbeddedText]:
    """Add the probe vectors of the default encoder for these two languages; another encoder is refused."""
    assert source.lang is not None and target.lang is not None, "the languages of a corpus are known"
    probes = default.probes(source.lang, target.lang, encoder=facts.fingerprint)
    vectors = np.asarray(probes.source), np.asarray(probes.target)
    name, pair = default.card().name, f"{source.lang}-{target.lang}"
    if len(vectors[0]) < FEWEST_PAIRS:
        raise InputError(f"{name} brings {len(vectors[0])} probe pairs for {pair}, too few; give --seed-pairs")
    rows_of = plan_vectors(*vectors)
    origin = Input(role=SEED, name=f"probe vectors of {name}", fingerprint=default.probes_fingerprint())
    added = []
    for number, (side, rows, stored) in enumerate(zip((source, target), rows_of, vectors, strict=True)):
        sentences = write_probes(origin, side, number, rows, [""] * len(stored))
        added.append(EmbeddedText(sentences, store_vectors(sentences, GivenVectors(stored, rows), facts, dtype)))
    return added[0], added[1]
