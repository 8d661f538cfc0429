"""Why a pair has its score: what speaks for and against the first pairs of a file, by the pair classifier."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow.compute as pc

from mining.errors import InputError
from mining.paths import exists
from mining.scoring.classifier import Contribution, Use
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.clean_stage import CleanSettings, load_scorer
from pipelines.datasets.manifest import MANIFEST, join, open_dataset

_PARTS = 8  # the strongest


class ExplainedPair(NamedTuple):
    """A pair, and what moves the log odds that it is right."""

    line: int
    source: str
    target: str
    log_odds: float
    parts: list[Contribution]


def explain_pairs(bitext: BitextSettings, encoder: str, most: int) -> list[ExplainedPair]:
    """The first `most` pairs; margins and rivals are those of the first chunk.

    The log odds are those where half of all pairs are right; the parts of a pair add up to them, but for what all
    pairs have in common.
    """
    chunk = next(read_chunks(bitext), None)
    pairs = None if chunk is None else chunk.filter(pc.is_null(chunk["reason"]))
    if pairs is None or not len(pairs):
        raise InputError(f"{bitext.path}: no pairs in it to explain")
    scorer = load_scorer(CleanSettings(bitext=bitext, encoder=encoder, work="")).scorer
    texts = [pairs[side].to_pylist() for side in ("source", "target")]
    features = scorer.features(*texts)[:most]
    ratios = scorer.classifier.log_ratios(features, Use.cleaning).tolist()
    parts = scorer.classifier.explain(features, Use.cleaning, most=_PARTS)
    return list(map(ExplainedPair, pairs["line"].to_pylist(), *texts, ratios, parts))


def pairs_file(url: str) -> str:
    """A file of pairs: of a pairs dataset its first shard."""
    if not exists(join(url, MANIFEST)):
        return url
    dataset = open_dataset(url, "pairs")
    if not dataset.shards:
        raise InputError(f"{url}: no pairs in it to explain")
    return dataset.shard_url(dataset.shards[0])
