"""Known translations among the rows of a graph: the probe pairs that lie behind both corpora in full."""

from __future__ import annotations

import numpy as np

from mining.even_rows import evenly_spread
from pipelines.datasets.manifest import SENTENCES, Dataset, open_dataset
from pipelines.datasets.sentences import read_shard
from pipelines.datasets.side_datasets import SideDatasets

MOST_PAIRS = 1000  # whose true neighbours are searched

Pair = tuple[int, int]  # ids of a source and a target


def planted_pairs(source: SideDatasets, target: SideDatasets) -> tuple[Pair, ...]:
    """Both ends of each, at most so many, spread evenly over the seed pairs that they are of."""
    sides = [_numbered(side.probes) for side in (source, target)]
    if any(side is None for side in sides):
        return ()
    (ids, lines), (other_ids, other_lines) = sides  # type: ignore[misc]
    _, here, there = np.intersect1d(lines, other_lines, assume_unique=True, return_indices=True)
    chosen = evenly_spread(len(here), MOST_PAIRS)
    return tuple(zip(ids[here[chosen]].tolist(), other_ids[there[chosen]].tolist(), strict=True))


def _numbered(vectors: Dataset | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The ids of probes and the seed pair that each is of; None where vectors do not say which sentences they are."""
    given = vectors.manifest.request.given(SENTENCES) if vectors is not None else []
    if vectors is None or not given:
        return None
    sentences = open_dataset(vectors.input_url(given[0]), "sentences")
    tables = [read_shard(sentences.place(shard), ["id", "line"], shard.checksum) for shard in sentences.shards]
    ids, lines = (np.concatenate([table[name].to_numpy() for table in tables]) for name in ("id", "line"))
    return ids.astype(np.int64), lines
