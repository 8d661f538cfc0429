"""From what a round mined to what it trains on: selected pairs, hard negatives, and how right they seem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from encoder.data.parallel_readers import with_tokens
from mining.files import atomic_writer
from mining.pairs import SCHEMA, conform
from pipelines.datasets.manifest import Dataset, read_model, write_model
from pipelines.datasets.sentences import PIECES, column_of
from pipelines.loop.gold import check_gold
from pipelines.loop.graph_negatives import NegativeLimits, hard_negatives, negative_path, write_triples
from pipelines.loop.loop_settings import LoopSettings
from pipelines.loop.pair_selection import Known, Selection, select_pairs
from pipelines.loop.records import MinedPair
from pipelines.loop.round_mining import MinedCorpora, Text
from pipelines.mine.edges import Direction
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.score_curve import ScoreCurve
from pipelines.mine.thresholding import PROBES

RECORD = "mined.json"


class TrainingPairs(NamedTuple):
    """Corpora for the trainer, and what is said of them in `round.json`."""

    mined: tuple[MinedPair, ...] = ()
    corpora: tuple[dict[str, Any], ...] = ()

    @property
    def pairs(self) -> int:
        return sum(pair.selected for pair in self.mined)

    @property
    def why_nothing(self) -> str:
        return "; ".join(f"{pair.pair}: {pair.why_nothing}" for pair in self.mined)


class _Note(BaseModel):
    """Written when all files of training pairs are there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mined: tuple[MinedPair, ...]


def write_training_pairs(
    settings: LoopSettings,
    mined: Mapping[str, MinedCorpora],
    text: Text,
    known: Known,
    folder: Path,
    precision: float,
) -> TrainingPairs:
    """Select pairs and write them to `folder`, unless that was done."""
    note = read_model(str(folder / RECORD), _Note)
    if note is None:
        tables = {pair: _table(of_pair) for pair, of_pair in mined.items()}
        selected = select_pairs(tables, known, settings.selection)
        found = []
        for pair, selection in selected.items():
            with atomic_writer(str(pairs_path(folder, pair))) as stream:
                pq.write_table(_with_pieces(pair, selection.pairs, text), stream, compression="zstd")
            negatives = _negatives(settings, pair, mined[pair], text, selection.pairs, folder)
            found.append(_describe(settings, pair, mined[pair], selection, precision, negatives))
        note = _Note(mined=tuple(found))
        write_model(str(folder / RECORD), note)
    return TrainingPairs(note.mined, tuple(corpus for pair in note.mined for corpus in _corpora(folder, pair)))


def pairs_path(folder: Path, pair: str) -> Path:
    return folder / f"{pair}.parquet"


def _corpora(folder: Path, pair: MinedPair) -> list[dict[str, Any]]:
    source, target = pair.pair.split("-")
    corpora: list[dict[str, Any]] = []
    if pair.selected:
        corpora.append({"path": str(pairs_path(folder, pair.pair))})
    if pair.hard_negatives:
        paths = (negative_path(folder, source, target), negative_path(folder, target, source))
        corpora += [{"path": str(path), "format": "nli"} for path in paths]
    return corpora


def _table(mined: MinedCorpora) -> pa.Table:
    batches = [] if mined.pairs is None else [conform(table) for table in pair_batches(mined.pairs)]
    return pa.concat_tables([SCHEMA.empty_table(), *batches])


def _with_pieces(pair: str, pairs: pa.Table, text: Text) -> pa.Table:
    """Pairs with what their sentences were cut into when they were prepared, so that training need not do it again."""
    if text.tokenizer is None or not len(pairs):
        return pairs
    source, target = (text.languages[lang] for lang in pair.split("-"))
    src_pieces = column_of(source, PIECES.name, pairs["src_id"].to_numpy().astype(np.int64))
    tgt_pieces = column_of(target, PIECES.name, pairs["tgt_id"].to_numpy().astype(np.int64))
    return with_tokens(pairs, src_pieces, tgt_pieces, text.tokenizer)


def _negatives(
    settings: LoopSettings, pair: str, mined: MinedCorpora, text: Text, pairs: pa.Table, folder: Path
) -> int:
    """How many triples were written, of both directions."""
    rules = settings.selection.hard_negatives
    if rules is None or not len(pairs):
        return 0
    source, target = pair.split("-")
    limits = NegativeLimits(rules.below, rules.share)
    total = 0
    ways: list[tuple[Direction, str, str]] = [("forward", source, target), ("backward", target, source)]
    for direction, own, other in ways:
        rows = text.languages[other].rows
        triples = hard_negatives(mined.graph, pairs, direction, rows, limits, settings.mining.margin)
        path = negative_path(folder, own, other)
        write_triples(path, triples, text.languages[own], text.languages[other], (own, other))
        total += len(triples.anchor)
    return total


def _describe(
    settings: LoopSettings, pair: str, mined: MinedCorpora, selection: Selection, precision: float, negatives: int
) -> MinedPair:
    if mined.pairs is None:
        return MinedPair(pair=pair, target_precision=precision, refused=mined.refused)
    counters, measures = mined.pairs.manifest.counters, mined.pairs.manifest.measures
    probes = counters.dropped.get(PROBES, 0)
    dropped = {reason: rows for reason, rows in counters.dropped.items() if reason != PROBES}
    return MinedPair(
        pair=pair,
        matched=counters.rows_in - probes,
        selected=len(selection.pairs),
        dropped=dict(sorted({**dropped, **selection.dropped}.items())),
        threshold=measures.get("threshold"),
        target_precision=precision,
        estimated_precision=measures.get("precision"),
        estimated_true_pairs=measures.get("true_pairs"),
        domain_distance=measures.get("domain_distance"),
        hard_negatives=negatives,
        doubt=_doubt(mined.pairs),
        gold=check_gold([gold for gold in settings.gold if gold.pair == pair], selection.pairs),
    )


def _doubt(pairs: Dataset) -> str | None:
    """Why the mine claims no precision, where it does not."""
    curve = ScoreCurve.read(pairs.url)
    return curve.warning or None if curve is not None else None
