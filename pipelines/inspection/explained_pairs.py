"""Why a pair has its score: what speaks for and against the first pairs of a file, by the pair classifier."""

from __future__ import annotations

import pyarrow.compute as pc

from mining.errors import InputError
from mining.paths import exists
from mining.scoring.classifier import Contribution, Use
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.clean.clean_stage import CleanSettings, load_scorer
from pipelines.datasets.manifest import MANIFEST, join, open_dataset
from pipelines.inspection.description import shown

COLUMNS = ("line", "source", "target", "log odds", "speaks for it", "speaks against it")
_PARTS = 4  # of each kind


def explain_pairs(bitext: BitextSettings, encoder: str, most: int, classifier: str | None = None) -> list[list[str]]:
    """A row of `COLUMNS` for each of the first `most` pairs; margins and rivals are those of the first chunk.

    The log odds are those of a bitext half of whose pairs are right, and the parts of a pair add up to them, but for
    what all pairs have in common.
    """
    chunk = next(read_chunks(bitext), None)
    pairs = None if chunk is None else chunk.filter(pc.is_null(chunk["reason"]))
    if pairs is None or not len(pairs):
        raise InputError(f"{bitext.path}: no pairs in it to explain")
    scorer = load_scorer(CleanSettings(bitext=bitext, encoder=encoder, classifier=classifier, work="")).scorer
    texts = [pairs[side].to_pylist() for side in ("source", "target")]
    features = scorer.features(*texts)[:most]
    ratios = scorer.classifier.log_ratios(features, Use.cleaning)
    explained = scorer.classifier.explain(features, Use.cleaning, most=features.shape[1])
    lines = pairs["line"].to_pylist()
    return [
        [str(lines[row]), shown(texts[0][row]), shown(texts[1][row]), f"{ratios[row]:+.1f}", *_sides(parts)]
        for row, parts in enumerate(explained)
    ]


def pairs_file(url: str) -> str:
    """A file of pairs: of a pairs dataset its first shard."""
    if not exists(join(url, MANIFEST)):
        return url
    dataset = open_dataset(url, "pairs")
    if not dataset.shards:
        raise InputError(f"{url}: no pairs in it to explain")
    return dataset.shard_url(dataset.shards[0])


def _sides(parts: list[Contribution]) -> list[str]:
    """The strongest parts for the pair, and against it."""
    signs = [[part for part in parts if sign * part.log_odds > 0][:_PARTS] for sign in (1, -1)]
    return ["; ".join(f"{part.name} {part.value:.2f} ({part.log_odds:+.1f})" for part in side) for side in signs]
