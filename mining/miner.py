"""From two sides to pairs: graph, retrieval, threshold, filters and pair files in one call."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from mining.approximate import EXACT_LIMIT, approximate_graph
from mining.calibration import Calibration, calibrate
from mining.corpus import read_id_pairs, texts_at
from mining.errors import InputError
from mining.filters import FilterSettings, apply_filters
from mining.knn import DEFAULT_MEMORY, Checkpoint, choose_device, knn_graph
from mining.margin import Margin
from mining.neighbours import Graph
from mining.probes import ProbeRows, plan_probes
from mining.proposals import Report
from mining.retrieval import DIRECTION_NAMES, Edges, Retrieval, retrieve
from mining.sides import Side
from mining.threshold import TunedThreshold, fixed, top_n, tune_on_gold

_PAIR_BYTES = 100  # of a pair's ids, scores and lines in the table


class Search(StrEnum):
    """`auto` is exact up to a million sentences by a million (`mining.approximate.EXACT_LIMIT`)."""

    auto = "auto"
    exact = "exact"
    approximate = "approximate"


class Device(StrEnum):
    """`auto` is the GPU when torch sees one."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class MineSettings(BaseModel):
    """How pairs are found and which are kept; at most one of the four thresholds."""

    model_config = ConfigDict(extra="forbid")
    k: int = Field(4, ge=1)
    margin: Margin = Margin.ratio
    retrieval: Retrieval = Retrieval.max
    search: Search = Search.auto
    memory: int = DEFAULT_MEMORY
    device: Device = Device.auto
    threads: int | None = Field(None, ge=1)
    threshold: float | None = Field(None, allow_inf_nan=False)
    top: int | None = Field(None, ge=0)
    gold: str | None = None
    target_precision: float | None = Field(None, gt=0, le=1)
    filters: FilterSettings = FilterSettings.none()
    src_lang: str | None = None
    tgt_lang: str | None = None


class SearchResult(NamedTuple):
    """The graph, and what is known of it when it is approximate."""

    graph: Graph
    how: str
    recall: float


class Selection(NamedTuple):
    """The pairs that pass the threshold, where it is, and what it rests on."""

    edges: Edges
    threshold: float
    tuned: TunedThreshold | None = None
    calibration: Calibration | None = None
    notes: tuple[str, ...] = ()


class Mined(NamedTuple):
    """Pairs and rejected pairs, best first, and how many went for each reason."""

    pairs: pa.Table
    rejected: pa.Table
    counts: Counter[str]


def build_graph(
    source: Side,
    target: Side,
    settings: MineSettings,
    *,
    report: Report = lambda multiply_adds: None,
    checkpoint: Path | None = None,
) -> SearchResult:
    """The kNN graph, exact unless asked otherwise or too large; `how` says which."""
    products = int(source.mined.sum()) * int(target.mined.sum())
    exact = settings.search == Search.exact or (settings.search == Search.auto and products <= EXACT_LIMIT)
    how = "exact" if exact else f"approximate {settings.memory}"  # the memory chooses the index
    state = Checkpoint(checkpoint, source.vectors, target.vectors, settings.k, how) if checkpoint else None
    if not exact:
        found = approximate_graph(
            source.vectors, target.vectors, settings.k,
            memory=settings.memory, threads=settings.threads, report=report, checkpoint=state,
        )  # fmt: skip
        recall = min(found.forward.recall, found.backward.recall)
        kind, probes = found.forward.index_kind, found.forward.probes
        how = f"approximate ({kind}, {probes} probes), measured recall {recall:.1%}"
        return SearchResult(found.graph, how, recall)
    device = choose_device(settings.device)
    graph = knn_graph(
        source.vectors, target.vectors, settings.k,
        memory=settings.memory, device=device, threads=settings.threads, report=report, checkpoint=state,
    )  # fmt: skip
    return SearchResult(graph, f"exact ({device})", 1.0)


def plant_probes(source: Side, target: Side, seed_rows: np.ndarray) -> tuple[Side, Side, ProbeRows]:
    """Withhold one side of half the seed pairs; `seed_rows` (pairs, 2) says where both sides of each are.

    A sentence that stands in several seed pairs is planted with the first only, or it would be withheld and not at the
    same time; pairs with a sentence that is not mined (blank, or a zero vector) are no seed either.
    """
    usable = source.mined[seed_rows[:, 0]] & target.mined[seed_rows[:, 1]]
    seen: tuple[set[int], set[int]] = set(), set()
    for pair, (left, right) in enumerate(seed_rows.tolist()):
        left, right = int(source.repeats.first[left]), int(target.repeats.first[right])
        usable[pair] &= left not in seen[0] and right not in seen[1]
        if usable[pair]:
            seen[0].add(left)
            seen[1].add(right)
    spare, seed_rows = seed_rows[~usable], seed_rows[usable]
    source, target = (
        side.without(np.setdiff1d(rows[rows >= side.rows], planted))
        for side, rows, planted in zip((source, target), spare.T, seed_rows.T, strict=True)
    )
    plan = plan_probes(len(seed_rows))
    source_only, target_only = seed_rows[plan.source_only], seed_rows[plan.target_only]
    rows = ProbeRows(seed_rows[plan.full], source_only[:, 0], target_only[:, 1])
    return source.without(target_only[:, 0]), target.without(source_only[:, 1]), rows


def select(
    edges: Edges, source: Side, target: Side, settings: MineSettings, probes: ProbeRows | None = None
) -> Selection:
    """Apply the threshold that the settings ask for; without one, every retrieved pair is kept."""
    if settings.gold is not None:
        gold = read_id_pairs(settings.gold, source.lines, target.lines)
        gold = np.stack([source.repeats.first[gold[:, 0]], target.repeats.first[gold[:, 1]]], axis=1)
        tuned = tune_on_gold(np.stack([edges.source, edges.target], axis=1), edges.scores, gold)
        notes = () if tuned.f1 else ("none of the gold pairs was found, so the threshold rests on nothing",)
        return Selection(edges.take(fixed(edges.scores, tuned.threshold)), tuned.threshold, tuned=tuned, notes=notes)
    if settings.target_precision is not None:
        if probes is None:
            raise InputError("a target precision needs seed pairs (--seed-pairs) to calibrate the threshold with")
        return _calibrated(edges, source, target, settings.target_precision, probes)
    if settings.top is not None:
        chosen = edges.take(top_n(edges.scores, settings.top))
        return Selection(chosen, float(chosen.scores[-1]) if len(chosen) else float("inf"))
    threshold = settings.threshold if settings.threshold is not None else float("-inf")
    return Selection(edges.take(fixed(edges.scores, threshold)), threshold)


def _calibrated(edges: Edges, source: Side, target: Side, precision: float, probes: ProbeRows) -> Selection:
    """The threshold that the planted pairs say gives this precision, and the corpus pairs above it."""
    compact = [np.cumsum(side.mined) - 1 for side in (source, target)]  # the estimate counts mined rows only
    calibration = calibrate(
        compact[0][edges.source],
        compact[1][edges.target],
        edges.scores,
        n_src=int(source.mined.sum()),
        n_tgt=int(target.mined.sum()),
        probes=ProbeRows(
            np.stack([compact[0][probes.full[:, 0]], compact[1][probes.full[:, 1]]], axis=1),
            compact[0][probes.source_only],
            compact[1][probes.target_only],
        ),
    )
    point = calibration.threshold_for(precision)
    threshold = point.threshold
    planted_source = np.union1d(probes.full[:, 0], probes.source_only)
    planted_target = np.union1d(probes.full[:, 1], probes.target_only)
    corpus = ~np.isin(edges.source, planted_source) & ~np.isin(edges.target, planted_target)
    notes = () if point.reliable else (f"the precision of these pairs is not known: {point.reason}",)
    return Selection(
        edges.take(corpus & fixed(edges.scores, threshold)), threshold, calibration=calibration, notes=notes
    )


def pairs_table(edges: Edges, source: Side, target: Side) -> pa.Table:
    """The pairs with their texts and every place they stand, in the order of the edges."""
    columns: dict[str, object] = {
        "src_id": edges.source.astype(np.uint64),
        "tgt_id": edges.target.astype(np.uint64),
        "score": edges.scores,
        "cosine": edges.cosines,
        "directions": pa.array(DIRECTION_NAMES[edges.directions].tolist(), pa.string()),
    }
    for prefix, side, rows in (("src", source, edges.source), ("tgt", target, edges.target)):
        columns[f"{prefix}_text"] = texts_at(side.text, rows)
        columns[f"{prefix}_source"] = pa.repeat(side.text, len(rows))
        columns[f"{prefix}_line"] = rows + 1
        columns[f"{prefix}_also"] = pa.array(side.repeats.positions(rows), pa.list_(pa.int64()))
    return pa.table(columns)


def filter_pairs(pairs: pa.Table, settings: MineSettings) -> Mined:
    """Split pairs into kept and rejected; both stay best first."""
    result = apply_filters(pairs, settings.filters, settings.src_lang, settings.tgt_lang)
    kept, rejected = result.split(pairs)
    return Mined(kept, rejected, result.counts)


def mine_sides(
    source: Side, target: Side, graph: Graph, settings: MineSettings, probes: ProbeRows | None = None
) -> tuple[Selection, Mined]:
    """Pairs of a finished graph."""
    edges = retrieve(graph, settings.retrieval, settings.margin)
    selection = select(edges, source, target, settings, probes)
    by_language = settings.filters.language is not None or settings.filters.script is not None
    if by_language and None in (settings.src_lang, settings.tgt_lang):
        unknown = (
            "a language that is not given (--src-lang, --tgt-lang) is not checked by the language and script filters"
        )
        selection = selection._replace(notes=(*selection.notes, unknown))
    _require_room(len(selection.edges), source, target, settings.memory)
    return selection, filter_pairs(pairs_table(selection.edges, source, target), settings)


def _require_room(pairs: int, source: Side, target: Side, memory: int) -> None:
    """The table of all pairs is held with their texts, twice while it is split into kept and rejected."""
    text = sum(side.lines.size / side.lines.count for side in (source, target))
    needed = 2 * pairs * (_PAIR_BYTES + text)
    if needed > memory:
        raise InputError(
            f"the table of {pairs:,} pairs with their texts needs about {needed / 1e6:,.0f} MB, and --memory is "
            f"{memory / 1e6:,.0f} MB; raise it, or keep fewer pairs by --threshold or --top"
        )
