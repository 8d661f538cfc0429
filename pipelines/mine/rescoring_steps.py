"""The candidates of a graph of any size scored by a pair classifier, step by step, as proposals for the matching.

Words are weighed and lengths are judged by samples of both sides, which are all sentences of most mines; every other
step works on a range of ids (`candidate_ends`). The scores are those of `rescoring.rescored_candidates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mining.even_rows import spread_between
from mining.scoring.classifier import PairClassifier, Use, load_classifier
from mining.scoring.features import (
    CONTRASTED,
    MUTUAL,
    RATIO,
    TextSide,
    likeliest,
    plain_features,
    with_contrasts,
)
from mining.scoring.rivals import Rivals
from mining.scoring.surface import LengthModel, TextLengths, count_lengths, length_ratios
from mining.scoring.word_frequencies import WordFrequencies
from mining.threads import thread_pool
from pipelines.datasets.manifest import read_model, write_model
from pipelines.embed.loaded_encoders import held_encoder
from pipelines.mine.candidate_ends import (
    ROWS,
    Candidates,
    TextRows,
    forward_edges,
    join_sources,
    join_targets,
    lists_of,
    read_texts_of,
    texts_of,
    together,
)
from pipelines.mine.edges import GraphShard, as_edges
from pipelines.mine.memory_budget import EDGE_BYTES
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.proposed_edges import Proposed, proposed, write_proposals
from pipelines.mine.rescoring import require_encoder
from pipelines.mine.score_bands import matching_of, split_by
from pipelines.mine.text_join import TextShard
from pipelines.mine.word_texts import WordEncoder, find_words, read_texts
from pipelines.runners.spool import Spool

WEIGHED = 1_000_000  # sentences of a side by which its words are weighed
MEASURED = 250_000  # sources whose likely pairs tell the lengths of translations
SIDES = SOURCE, TARGET = 0, 1
_FEATURE_BYTES = 1500  # of scoring an edge: its features in parts, joined, in order and with contrasts
_NOTE = "rescored.json"
LENGTHS = np.dtype(
    [("ratio", "<f4"), ("source", "<i8"), ("target", "<i8"), ("characters", "<f4"), ("words", "<f4")]
)  # of a mutual pair


class SideText(NamedTuple):
    """A file of sentences of a side."""

    side: int
    shard: TextShard


class Weights(NamedTuple):
    """How many sentences of each side have a word."""

    source: WordFrequencies
    target: WordFrequencies

    @classmethod
    def united(cls, parts: Iterable[Weights]) -> Weights:
        given = list(parts)
        return cls(*(WordFrequencies.united(part[side] for part in given) for side in SIDES))


class Described(NamedTuple):
    """Edges with their features, but for those that compare them with other edges."""

    edges: np.ndarray  # EDGE, not scored yet
    plain: np.ndarray  # (edges, features)


class FeatureRows(NamedTuple):
    """Edges with their features, but for those that compare them with other edges of their targets."""

    edges: np.ndarray  # EDGE, not scored yet
    plain: np.ndarray  # (edges, features)
    of_source: np.ndarray  # (edges, contrasted features)


class Rescored(BaseModel):
    """The note that all candidates are scored: the names of the files they are in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: list[str]


def rescored_before(plan: MinePlan) -> list[Proposed]:
    """What an earlier run has scored."""
    note = _note(plan) if _asked(plan) else None
    return [] if note is None else [proposed(plan.work, name) for name in note.names]


def shards_to_rescore(plan: MinePlan) -> list[GraphShard]:
    return plan.graph_shards if _asked(plan) and _note(plan) is None else []


def texts_to_rescore(plan: MinePlan) -> list[SideText]:
    if not shards_to_rescore(plan):
        return []
    return [SideText(side, shard) for side in SIDES for shard in plan.scored_texts[side].shards]


def _asked(plan: MinePlan) -> bool:
    return plan.settings.rescore is not None and not plan.complete and matching_of(plan.work) is None


def _note(plan: MinePlan) -> Rescored | None:
    return read_model(plan.work.scratch(_NOTE), Rescored)


def rescore_here(plan: MinePlan) -> list[Proposed]:
    """All steps in this process."""
    shards, texts = shards_to_rescore(plan), texts_to_rescore(plan)
    if not shards:
        return note_rescored([], plan)
    weights = Weights.united([weigh(text, plan) for text in texts])
    with Spool[int, object](plan.work) as by_source:
        with Spool[int, object](plan.work) as by_target:
            _spread(shards, texts, TARGET, by_target)
            for item in by_target.groups():
                by_source.add(targets(item, plan))
        _spread(shards, texts, SOURCE, by_source)
        lengths = length_model([measure(item, plan) for item in by_source.groups()])
        with Spool[int, FeatureRows](plan.work) as scored:
            for item in by_source.groups():
                scored.add(describe(item, plan, weights, lengths))
            found = [scores for item in scored.groups() for scores in rescore(item, plan)]
    forget_model()
    return note_rescored(found, plan)


def _spread(shards: list[GraphShard], texts: list[SideText], side: int, spool: Spool[int, object]) -> None:
    for shard in shards:
        spool.add(graph_to_ranges(shard, side))
    for text in texts:
        spool.add(texts_to_ranges(text, side))


def weigh(text: SideText, plan: MinePlan) -> Weights:
    """The words of those sentences of a file that are in the sample."""
    shard = text.shard
    sample = spread_between(shard.first, shard.first + shard.rows, plan.scored_texts[text.side].rows, WEIGHED)
    texts = read_texts_of(shard).take(pa.array(sample - shard.first)).to_pylist()
    none = WordFrequencies.united([])
    found = WordFrequencies.of(find_words(texts, plan.languages[text.side]))
    return Weights(none, found) if text.side == TARGET else Weights(found, none)


def graph_to_ranges(shard: GraphShard, side: int) -> Iterator[tuple[int, object]]:
    """What a file of the graph has to say of the sentences of a side."""
    if shard.direction == ("backward" if side == TARGET else "forward"):
        yield from lists_of(shard)
    elif side == TARGET:  # sources hear of backward edges together with what is known of their targets
        yield from forward_edges(shard)


def texts_to_ranges(text: SideText, side: int) -> Iterator[tuple[int, object]]:
    """The texts of a file that is of this side."""
    if text.side == side:
        yield from texts_of(text.shard)


def targets(item: tuple[int, Iterable[object]], plan: MinePlan) -> Iterator[tuple[int, object]]:
    return join_targets(*item, _model(plan).classifier.least_mean, plan.settings.edges_at_once)


def measure(item: tuple[int, Iterable[object]], plan: MinePlan) -> np.ndarray:
    """The lengths of the mutual pairs of those sources of a range that are in the sample, by source and target."""
    sample = spread_between(item[0] * ROWS, (item[0] + 1) * ROWS, plan.sides.rows("forward"), MEASURED)
    parts = [
        _measured(found, sample, plan)
        for found in join_sources(*item, _model(plan).classifier.least_mean, _described_at_once(plan))
    ]
    measured = np.concatenate([np.zeros(0, LENGTHS), *parts])
    return measured[np.lexsort((measured["target"], measured["source"]))]


def _measured(found: Candidates, sample: np.ndarray, plan: MinePlan) -> np.ndarray:
    chosen = np.flatnonzero((found.directions == MUTUAL) & np.isin(found.source, sample))
    measured = np.zeros(len(chosen), LENGTHS)
    measured["ratio"] = found.of_graph[chosen, RATIO]
    measured["source"], measured["target"] = found.source[chosen], found.target[chosen]
    places = found.places
    source, rows = _lengths(found.source_texts, places[SOURCE][chosen], plan.languages[SOURCE])
    target, columns = _lengths(found.target_texts, places[TARGET][chosen], plan.languages[TARGET])
    measured["characters"], measured["words"] = length_ratios(source, target, rows, columns)
    return measured


def _lengths(texts: TextRows, places: np.ndarray, lang: str | None) -> tuple[TextLengths, np.ndarray]:
    """The lengths of some texts, and where each of `places` is among them."""
    wanted, back = np.unique(places, return_inverse=True)
    own = texts.texts.take(pa.array(wanted))
    return count_lengths(own, find_words(own.to_pylist(), lang)), back


def length_model(parts: Iterable[np.ndarray]) -> LengthModel:
    """By the likely ones of all measured pairs."""
    measured = np.concatenate([np.zeros(0, LENGTHS), *parts])
    best = measured[likeliest(measured["ratio"], measured["source"], measured["target"])]
    return LengthModel.of(best["characters"], best["words"])


def describe(
    item: tuple[int, Iterable[object]], plan: MinePlan, weights: Weights, lengths: LengthModel
) -> Iterator[tuple[int, FeatureRows]]:
    """The features of all edges of a range of sources, by range of targets.

    They are made by as many edges as fit, and gone through twice: for the best of each source, and to give them away.
    What does not fit waits in a file.
    """
    rivals, first = Rivals(ROWS, len(CONTRASTED)), item[0] * ROWS
    held: list[Described] = []
    with Spool[int, Described](plan.work) as further:
        for found in _described(item, plan, weights, lengths):
            rivals.add(found.plain[:, CONTRASTED], found.edges["source"] - first)
            if held:
                further.add([(0, found)])
            else:
                held.append(found)
        for edges, plain in chain(held, *(parts for _, parts in further.groups())):
            of_source = rivals.contrasts(plain[:, CONTRASTED], edges["source"] - first)
            for key, rows in split_by(edges["target"] // ROWS, np.arange(len(edges))):
                yield key, FeatureRows(edges[rows], plain[rows], of_source[rows])


def _described(
    item: tuple[int, Iterable[object]], plan: MinePlan, weights: Weights, lengths: LengthModel
) -> Iterator[Described]:
    model = _model(plan)

    def read(rows: TextRows, side: int) -> TextSide:
        return read_texts(rows.texts.to_pylist(), plan.languages[side], model.words, weights[side])

    source: TextSide | None = None  # of all parts
    for found in join_sources(*item, model.classifier.least_mean, _described_at_once(plan)):
        source = source or read(found.source_texts, SOURCE)
        target = read(found.target_texts, TARGET)
        with thread_pool(_threads(plan)) as pool:
            plain = plain_features(found.of_graph, lengths, source, target, *found.places, pool)
        yield Described(as_edges(found.source, found.target, 0, found.cosine, found.directions), plain)


def _described_at_once(plan: MinePlan) -> int:
    """Edges whose features fit."""
    return max(plan.settings.edges_at_once * EDGE_BYTES // _FEATURE_BYTES, 1)


def rescore(item: tuple[int, Iterable[FeatureRows]], plan: MinePlan) -> Iterator[Proposed]:
    """Score all edges of a range of targets, which are gone through twice: for the best of each target, and then as
    many together as fit. Edges among probes serve calibration only, and are left out."""
    key, parts = item
    rivals, first = Rivals(ROWS, len(CONTRASTED)), key * ROWS
    for part in parts:
        rivals.add(part.plain[:, CONTRASTED], part.edges["target"] - first)
    for number, taken in enumerate(together(parts, _described_at_once(plan), lambda part: len(part.edges))):
        rows = _joined(taken)
        of_target = rivals.contrasts(rows.plain[:, CONTRASTED], rows.edges["target"] - first)
        edges = _scored(rows, of_target, plan)
        yield write_proposals(plan.work, f"rescored-{key:05d}-{number:05d}.npy", edges, plan.lowest)


def _joined(parts: list[FeatureRows]) -> FeatureRows:
    """By source and target, whatever came first; the parts are let go of."""
    rows = FeatureRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    parts.clear()
    order = np.lexsort((rows.edges["target"], rows.edges["source"]))
    return FeatureRows(*(column[order] for column in rows))


def _scored(rows: FeatureRows, of_target: np.ndarray, plan: MinePlan) -> np.ndarray:
    edges, features = rows.edges, with_contrasts(rows.plain, rows.of_source, of_target)
    with thread_pool(_threads(plan)) as pool:
        edges["score"] = _model(plan).classifier.log_ratios(features, Use.mining, pool.count)
    return edges[(edges["source"] < plan.source_texts.rows) & (edges["target"] < plan.target_texts.rows)]


def note_rescored(found: Iterable[Proposed], plan: MinePlan) -> list[Proposed]:
    """Record that all candidates are scored; all of them, also where an earlier run has scored them."""
    if not shards_to_rescore(plan):
        return rescored_before(plan)
    every = sorted(found, key=lambda each: each.name)
    write_model(plan.work.scratch(_NOTE), Rescored(names=[each.name for each in every]))
    return every


def forget_model() -> None:
    """Let go of the encoder."""
    _loaded.cache_clear()


class _Model(NamedTuple):
    classifier: PairClassifier
    words: WordEncoder


def _threads(plan: MinePlan) -> int | None:
    return plan.settings.rescore.threads if plan.settings.rescore is not None else None


def _model(plan: MinePlan) -> _Model:
    settings = plan.settings.rescore
    assert settings is not None
    return _loaded(settings.classifier, settings.version, settings.encoder)


@lru_cache(maxsize=1)
def _loaded(classifier: str, version: str, encoder: str) -> _Model:
    found, own = load_classifier(classifier), held_encoder(encoder)
    require_encoder(found, own)
    return _Model(found, WordEncoder(own, found.project))
