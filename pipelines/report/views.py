"""A mine as the page shows it: tiles, panels of charts with a sentence each, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from mining.metrics import PairMetrics
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import Dataset, flat
from pipelines.mine.score_curve import histogram, thinned
from pipelines.mine.work_folder import FinishedMine
from pipelines.report import charts
from pipelines.report.charts import Rows, ThresholdCurve
from pipelines.report.figures import (
    TEXTS,
    Gold,
    PairSample,
    SourceCount,
    Stage,
    against_gold,
    funnel,
    lengths,
    sample,
    scores_of,
    source_counts,
)
from pipelines.report.hubs import FACTOR, SideHubs, find_hubs
from pipelines.report.panels import Panel


class Ancestor(NamedTuple):
    """A dataset that the pairs rest on."""

    what: str
    url: str
    rows: int | None
    fingerprint: str


class View(NamedTuple):
    """Everything that is shown of one mine."""

    name: str
    langs: tuple[str, str]
    tiles: list[tuple[str, str]]
    summary: dict[str, str]
    panels: dict[str, Panel]
    stages: list[Stage]
    hubs: list[SideHubs]
    sources: list[SourceCount]
    settings: list[tuple[str, str]]
    lineage: list[Ancestor]
    pairs: dict[str, Any]
    shown: int
    total: int
    truth: PairMetrics | None


def view(mine: FinishedMine, most_pairs: int) -> View:
    """Read a mine and draw it."""
    scores = scores_of(mine.pairs)
    gold = against_gold(mine, scores)
    chosen = sample(mine, scores, most_pairs, gold)
    hubs, stages = find_hubs(mine), funnel(mine)
    panels = [
        _histogram(mine, scores, gold),
        *_by_threshold(mine, scores, gold),
        _precision_recall(mine, gold),
        Panel(
            "funnel", "What was dropped, and why", "Every row is accounted for, stage by stage.", charts.funnel(stages)
        ),
        _lengths(mine, chosen),
        _hubs(hubs),
    ]
    return View(
        name=mine.name,
        langs=(mine.source.lang, mine.target.lang),
        tiles=_tiles(mine, gold),
        summary=_summary(mine, gold),
        panels={panel.key: panel for panel in panels},
        stages=stages,
        hubs=hubs,
        sources=source_counts(mine),
        settings=list(_settings(mine)),
        lineage=list(_lineage(mine)),
        pairs=_pairs(chosen),
        shown=len(chosen.table),
        total=chosen.total,
        truth=gold.metrics if gold else None,
    )


def _histogram(mine: FinishedMine, scores: np.ndarray, gold: Gold | None) -> Panel:
    title = "Scores"
    if mine.curve is None or not mine.curve.counts:
        if not len(scores):
            return Panel("histogram", title, "No pair was kept, so there are no scores to show.")
        edges, counts = histogram(ScoreCounts.of(scores))
        note = "Kept pairs only: this mine was made before scores below the threshold were recorded."
        return Panel("histogram", title, note, charts.histogram(edges, {charts.KEPT: np.array(counts)}, mine.threshold))
    edges = mine.curve.edges
    everything = np.array(mine.curve.counts)
    kept, filtered = (_counted(part, edges) for part in (scores, scores_of(mine.pairs, rejected=True)))
    parts: dict[str, np.ndarray] = {charts.KEPT: kept}
    sentence = "Every matched pair by its score, and what became of it."
    if gold is not None:
        right = _counted(scores[gold.right], edges)
        parts = {charts.RIGHT: right, charts.WRONG: kept - right}
        sentence = "Every matched pair by its score; those kept are compared with the true alignment."
    below = np.maximum(everything - kept - filtered, 0)
    parts |= {name: rows for name, rows in ((charts.FILTERED, filtered), (charts.BELOW, below)) if rows.any()}
    return Panel("histogram", title, sentence, charts.histogram(edges, parts, mine.threshold))


def _counted(scores: np.ndarray, edges: list[float]) -> np.ndarray:
    return np.histogram(np.clip(scores.astype(np.float64), edges[0], edges[-1]), edges)[0]


def _by_threshold(mine: FinishedMine, scores: np.ndarray, gold: Gold | None) -> list[Panel]:
    """Yield, and precision as far as anything is known of it."""
    curve = mine.curve
    rows = thinned(len(scores))
    threshold, kept = (curve.threshold, curve.kept) if curve else (scores[rows].tolist(), (rows + 1).tolist())
    spec = charts.kept_by_threshold(threshold, kept, mine.threshold) if len(threshold) else None
    sentence = "How many matched pairs each threshold would keep, before filters."
    panels = [Panel("yield", "Yield", sentence if spec else "No pair was matched, so there is nothing to keep.", spec)]
    lines = []
    if curve is not None and curve.basis == "calibration":
        bounds = (curve.precision_low, curve.precision_high)
        lines.append(ThresholdCurve("estimate by probe pairs", curve.threshold, curve.precision, *bounds))
    if curve is not None and curve.basis == "gold":
        lines.append(ThresholdCurve("on the gold pairs", curve.threshold, curve.precision))
    if mine.review is not None and mine.review.curve.threshold:
        review = mine.review.curve
        bounds = (review.precision_low, review.precision_high)
        lines.append(ThresholdCurve("estimate by review", review.threshold, review.precision, *bounds))
    if gold is not None and (curve is None or curve.basis != "gold"):
        some = thinned(len(gold.curve.threshold))
        lines.append(
            ThresholdCurve(
                "truth, of pairs kept", *(c[some].tolist() for c in (gold.curve.threshold, gold.curve.precision))
            )
        )
    if not lines:
        missing = (
            "Nothing is known of precision: mine with --target-precision and --seed-pairs or with --gold, or mark some "
            "pairs with `twinlode review`."
        )
        return [*panels, Panel("precision", "Precision", missing)]
    told = "The share of right pairs above each threshold; bands hold 90% of what is likely."
    if curve is not None and curve.warning:
        told += f" The estimate by probe pairs is not reliable: {curve.warning}."
    return [*panels, Panel("precision", "Precision", told, charts.precision_by_threshold(lines, mine.threshold))]


def _precision_recall(mine: FinishedMine, gold: Gold | None) -> Panel:
    title, lines = "Precision and recall", {}
    if mine.curve is not None and mine.curve.basis != "none" and mine.curve.threshold:
        name = "estimate by probe pairs" if mine.curve.basis == "calibration" else "on the gold pairs"
        lines[name] = (mine.curve.recall, mine.curve.precision, mine.curve.threshold)
    if gold is not None and (mine.curve is None or mine.curve.basis != "gold"):
        some = thinned(len(gold.curve.threshold))
        columns = (gold.curve.recall, gold.curve.precision, gold.curve.threshold)
        lines["truth, of pairs kept"] = tuple(column[some].tolist() for column in columns)
    if not lines:
        return Panel("recall", title, "There are neither gold nor probe pairs here, so recall is not known.")
    return Panel(
        "recall", title, "One point a threshold; the best corner is top right.", charts.precision_recall(lines)
    )


def _lengths(mine: FinishedMine, chosen: PairSample) -> Panel:
    if not len(chosen.table):
        why = "No pair is shown" if chosen.total else "No pair was kept"
        return Panel("lengths", "Lengths", f"{why}, so there are no lengths to compare.")
    points: Rows = [
        {"source": max(left, 1), "target": max(right, 1), "score": round(score, 4)}
        for left, right, score in lengths(chosen.table)
    ]
    names = (mine.source.lang or "source", mine.target.lang or "target")
    sentence = "Translations are of similar length: what lies far from the cloud deserves a look."
    return Panel("lengths", "Lengths", sentence, charts.length_scatter(points, names))


def _hubs(sides: list[SideHubs]) -> Panel:
    if not sides:
        return Panel("hubs", "Hubs", "The graph is no longer there, so hubs cannot be counted.")
    shares = " and ".join(f"{100 * side.hubness.places_of_hubs:.1f}% of places in {side.side}" for side in sides)
    sentence = (
        f"How often a sentence is among the {sides[0].k} nearest of others. Hubs (over {FACTOR:g} k) take {shares}."
    )
    return Panel("hubs", "Hubs", sentence, charts.occurrences(sides))


def _summary(mine: FinishedMine, gold: Gold | None) -> dict[str, str]:
    """The line of a mine in the table of all mines."""
    measures = mine.pairs.manifest.measures
    rows = {
        "source": f"{mine.source.sentences.rows:,}" if mine.source.sentences else "–",
        "target": f"{mine.target.sentences.rows:,}" if mine.target.sentences else "–",
        "pairs": f"{mine.pairs.rows:,}",
        "threshold": f"{mine.threshold:.3f}" if mine.threshold is not None else "–",
        "estimated precision": f"{100 * measures['precision']:.1f}%" if "true_pairs" in measures else _unsure(mine),
    }
    truth = gold.metrics if gold else None
    for name in ("precision", "recall", "f1"):
        rows[f"true {name}" if name != "f1" else "F1"] = f"{100 * getattr(truth, name):.1f}%" if truth else "–"
    return rows


def _unsure(mine: FinishedMine) -> str:
    """What is said of a precision that probe pairs could not tell."""
    measures = mine.pairs.manifest.measures
    if "precision_low" not in measures:
        return "–"
    return f"not known ({100 * measures['precision_low']:.0f} to {100 * measures['precision_high']:.0f}%)"


def _tiles(mine: FinishedMine, gold: Gold | None) -> list[tuple[str, str]]:
    names = {"source": mine.source.lang or "source", "target": mine.target.lang or "target"}
    tiles = [(f"{names[key]} sentences" if key in names else key, value) for key, value in _summary(mine, gold).items()]
    if mine.review is not None:
        marked = mine.review.right + mine.review.wrong
        tiles.append(("reviewed", f"{marked:,} pairs, {100 * mine.review.right / max(marked, 1):.0f}% right"))
    return [(name, value) for name, value in tiles if value != "–"]


def _datasets(mine: FinishedMine) -> Iterator[tuple[str, Dataset]]:
    """What the pairs rest on, as far as it is still there, the pairs first."""
    yield "pairs", mine.pairs
    if mine.graph is not None:
        yield "graph", mine.graph
    for side, name in zip(mine.sides, ("source", "target"), strict=True):
        for what in ("vectors", "sentences", "probes"):
            dataset = getattr(side, what)
            if dataset is not None:
                yield f"{name} {what}", dataset


def _settings(mine: FinishedMine) -> Iterator[tuple[str, str]]:
    for what, dataset in _datasets(mine):
        for key, value in flat(dataset.manifest.request.configuration).items():
            yield f"{what}: {key}", str(value)


def _lineage(mine: FinishedMine) -> Iterator[Ancestor]:
    for what, dataset in _datasets(mine):
        yield Ancestor(what, dataset.url, dataset.rows, dataset.fingerprint)
    vectors = mine.source.vectors or mine.target.vectors
    if vectors is not None:
        encoder = vectors.manifest.request.configuration.get("encoder")
        yield Ancestor("encoder", f"dim {vectors.manifest.request.configuration.get('dim')}", None, str(encoder))
    for side, name in zip(mine.sides, ("source", "target"), strict=True):
        for given in side.sentences.manifest.request.inputs if side.sentences else ():
            yield Ancestor(f"{name} input", given.name, None, given.fingerprint)


def _pairs(chosen: PairSample) -> dict[str, Any]:
    """The sampled pairs as columns: shorter than rows, and quick to search."""
    table = chosen.table
    columns: dict[str, Any] = {"src": table[TEXTS[0]].to_pylist(), "tgt": table[TEXTS[1]].to_pylist()}
    if len(table):
        columns["score"] = [round(score, 4) for score in table["score"].to_pylist()]
        for side in ("src", "tgt"):
            files = pc.dictionary_encode(table[f"{side}_source"].combine_chunks())
            columns[f"{side}Files"] = files.dictionary.to_pylist()
            columns[f"{side}File"] = files.indices.to_pylist()
            columns[f"{side}Line"] = table[f"{side}_line"].to_pylist()
    columns["band"] = chosen.numbers.tolist()
    columns["bands"] = [chosen.bands.label(band) for band in range(len(chosen.bands.counts))]
    columns["counts"] = chosen.bands.counts.tolist()
    columns["right"] = None if chosen.right is None else chosen.right.tolist()
    return columns
