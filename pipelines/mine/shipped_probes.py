"""Probe pairs that come with the default encoder, as vectors: used like seed pairs, but without text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from encoder import default
from mining.errors import InputError
from mining.probes import plan_probes
from pipelines.datasets.manifest import SEED, Dataset, Input
from pipelines.embed.given_vectors import store_vectors
from pipelines.embed.vector_stage import EmbedSettings, EncoderFacts
from pipelines.mine.job_defaults import FEWEST
from pipelines.mine.probe_pairs import ProbeSide, write_probes


class ShippedProbes(NamedTuple):
    """The probes behind one corpus."""

    sentences: Dataset
    vectors: Dataset


def add_shipped_probes(
    source: ProbeSide, target: ProbeSide, facts: EncoderFacts, embed: EmbedSettings
) -> tuple[ShippedProbes, ShippedProbes]:
    """Add the probe vectors of the default encoder for these two languages; another encoder is refused."""
    probes = default.probes(source.lang, target.lang, encoder=facts.fingerprint)
    count = len(probes.source)
    if count < FEWEST:
        raise InputError(
            f"{default.card().name} brings {count} probe pairs for {source.lang}-{target.lang}, too few to estimate a "
            "precision; give --seed-pairs"
        )
    plan = plan_probes(count)
    origin = Input(role=SEED, name=f"probe vectors of {default.card().name}", fingerprint=default.probes_fingerprint())
    added = []
    for number, (side, rows, vectors) in enumerate(
        ((source, plan.sources(), probes.source), (target, plan.targets(), probes.target))
    ):
        sentences = write_probes(origin, side, number, rows, [""] * count)
        request = embed.model_copy(update={"sentences": sentences.url, "out": f"{sentences.url}-vectors"})
        added.append(ShippedProbes(sentences, store_vectors(request, facts, np.asarray(vectors)[rows])))
    return added[0], added[1]
