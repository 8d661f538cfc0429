"""The figures of one mine, as plain rows that charts and tables take: read shard by shard, texts only of a sample."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mining.corpus import read_columns
from mining.even_rows import evenly_spread
from mining.metrics import Curve, PairMetrics, is_gold, label_curve, pair_metrics
from mining.paths import open_url
from pipelines.datasets.manifest import Counters, Dataset
from pipelines.datasets.sentences import read_shard
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.thresholding import PROBES
from pipelines.mine.work_folder import FinishedMine
from pipelines.report.bands import RoundBands, sample_bands, score_bands

_SEED = 0
TEXTS = ("src_text", "tgt_text")


class Stage(NamedTuple):
    """One stage of the way from lines to pairs: what came in, what stayed, and why the rest went."""

    name: str
    counters: Counters


class PairSample(NamedTuple):
    """Some pairs, best first, as many of each band as possible; `right` where gold says so of every pair."""

    table: pa.Table
    bands: RoundBands
    numbers: np.ndarray  # the band of each row
    right: np.ndarray | None
    total: int


class Gold(NamedTuple):
    """The kept pairs against the true ones."""

    curve: Curve
    metrics: PairMetrics
    right: np.ndarray  # (pairs,) bool, best first


class SourceCount(NamedTuple):
    side: str
    source: str
    sentences: int | None
    pairs: int


def funnel(mine: FinishedMine) -> list[Stage]:
    """Every stage whose dataset is still there; the last one is split into matching, threshold and filters."""
    stages = []
    for side, name in zip(mine.sides, ("source", "target"), strict=True):
        for dataset, what in ((side.sentences, "cleaned"), (side.vectors, "embedded")):
            if dataset is not None:
                stages.append(Stage(f"{name} {what}", dataset.manifest.counters))
    counters = mine.pairs.manifest.counters
    early = {reason: rows for reason, rows in counters.dropped.items() if reason in ("below_threshold", PROBES)}
    late = {reason: rows for reason, rows in counters.dropped.items() if reason not in early}
    passed = counters.rows_in - sum(early.values())
    stages.append(Stage("pairs above threshold", Counters(rows_in=counters.rows_in, kept=passed, dropped=early)))
    return [*stages, Stage("pairs after filters", Counters(rows_in=passed, kept=counters.kept, dropped=late))]


def scores_of(pairs: Dataset, *, rejected: bool = False) -> np.ndarray:
    """The scores of all pairs, best first, or of those that filters dropped."""
    parts = [np.empty(0, np.float32)]
    for shard in pairs.shards:
        url = pairs.shard_url(shard).removesuffix(shard.name) + ("rejected-" if rejected else "") + shard.name
        with open_url(url) as stream:
            parts.append(pq.read_table(stream, columns=["score"])["score"].to_numpy())
    return np.concatenate(parts)


def sample(mine: FinishedMine, scores: np.ndarray, most: int, gold: Gold | None) -> PairSample:
    """At most `most` pairs of a mine with their texts, and what gold says of them."""
    bands = score_bands(scores)
    numbers = bands.of(scores)
    chosen = sample_bands(numbers, len(bands.counts), most, np.random.default_rng(_SEED))
    tables, first = [], 0
    for batch in pair_batches(mine.pairs):
        inside = chosen[(chosen >= first) & (chosen < first + len(batch))] - first
        tables.append(batch.take(pa.array(inside)))
        first += len(batch)
    table = pa.concat_tables(tables) if tables else pa.table({name: pa.array([], pa.string()) for name in TEXTS})
    return PairSample(table, bands, numbers[chosen], gold.right[chosen] if gold else None, len(scores))


def against_gold(mine: FinishedMine, scores: np.ndarray) -> Gold | None:
    """The kept pairs against gold given as sentences; None where there is none, or it names sentences by other ids."""
    if mine.gold is None or not len(scores):
        return None
    gold = _gold_texts(mine.gold)
    found = np.concatenate([_texts(batch) for batch in pair_batches(mine.pairs)])
    right = is_gold(found, gold)
    if not right.any():
        return None
    return Gold(label_curve(scores, right, len(np.unique(gold.astype(str), axis=0))), pair_metrics(found, gold), right)


def source_counts(mine: FinishedMine, most: int = 40) -> list[SourceCount]:
    """For each file of each side, its sentences and how many of them are in pairs; the largest files first."""
    rows = []
    for side, prefix, name in zip(mine.sides, ("src", "tgt"), ("source", "target"), strict=True):
        pairs: Counter[str] = Counter()
        for shard in mine.pairs.shards:
            with open_url(mine.pairs.shard_url(shard)) as stream:
                pairs.update(_counts(pq.read_table(stream, columns=[f"{prefix}_source"]).column(0)))
        sentences: Counter[str] = Counter()
        if side.sentences is not None:
            for shard in side.sentences.shards:
                sentences.update(_counts(read_shard(side.sentences.shard_url(shard), ["source"]).column(0)))
        found = [SourceCount(name, url, sentences.get(url), pairs[url]) for url in sentences.keys() | pairs.keys()]
        rows += sorted(found, key=lambda row: (-(row.sentences or 0), -row.pairs, row.source))[:most]
    return rows


def lengths(table: pa.Table, most: int = 1500) -> list[tuple[int, int, float]]:
    """Characters of both texts of some pairs, and their scores."""
    some = table.take(evenly_spread(len(table), most))
    return list(
        zip(*(pc.utf8_length(some[name]).to_pylist() for name in TEXTS), some["score"].to_pylist(), strict=True)
    )


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    # Texts, because dictionaries of different chunks number the same file differently.
    counted = pc.value_counts(column.cast(pa.string()).combine_chunks())
    return {row["values"]: row["counts"] for row in counted.to_pylist() if row["values"] is not None}


def _texts(table: pa.Table) -> np.ndarray:
    return np.array([table[name].to_pylist() for name in TEXTS], dtype=object).T.reshape(-1, 2)


def _gold_texts(url: str | None) -> np.ndarray:
    return np.array(read_columns(url), dtype=object).T.reshape(-1, 2) if url else np.empty((0, 2), object)
