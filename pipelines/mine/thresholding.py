"""The threshold of a mine: fixed, the n best, tuned on gold pairs, or calibrated with probe pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from mining.calibration import CalibratedCurve, Calibration, by_rank, calibrate
from mining.errors import InputError, UnreachablePrecision
from mining.files import iterate_lines
from mining.threshold import Curve, fixed, top_n, tune_on_gold
from pipelines.datasets.manifest import open_dataset, write_model
from pipelines.datasets.sentences import ALSO, read_shard
from pipelines.datasets.work import Work
from pipelines.mine.edges import read_array, write_array
from pipelines.mine.mine_settings import ThresholdSettings
from pipelines.mine.probe_pairs import read_plan
from pipelines.mine.score_curve import ScoreCurve

Figures = dict[str, float | None]
Known = Curve | CalibratedCurve | None
PROBES = "probe_pairs"  # the reason that probes and what they match are dropped for


class Selected(BaseModel):
    """What became of the matched pairs, and what the threshold rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int
    kept: int
    threshold: float | None
    dropped: dict[str, int] = Field(default_factory=dict)
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    true_pairs: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None
    domain_distance: float | None = None

    def measures(self) -> dict[str, float]:
        names = [name for name in type(self).model_fields if name not in ("rows", "kept", "dropped")]
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def selection_url(work: Work) -> str:
    return work.scratch("selected.json")


def margins_url(work: Work) -> str:
    """What the margin alone matches, where candidates are scored again and a precision is wanted."""
    return work.scratch("margins.npy")


def select(
    work: Work,
    edges: np.ndarray,
    source: list[str],
    target: list[str],
    settings: ThresholdSettings,
    *,
    rescored: bool = False,
) -> Selected:
    """Apply the threshold to all matched edges, best first, and keep what passes in `selected.npy`.

    `curve.json`, which stays beside the pairs, tells of those that do not pass.
    """
    planted = _planted(edges, source, target)
    corpus = edges[~planted]
    if settings.precision is None:
        found = _chosen(corpus, source, target, settings)
    elif len(source) == 1:
        found = _without_probes(corpus["score"], "there are too few probe pairs of these languages", rescored=rescored)
    else:
        with_probes = read_array(margins_url(work)) if rescored else edges
        calibration = _calibration(with_probes, source, target)
        if rescored:
            calibration = by_rank(calibration, corpus["score"])
        found = _calibrated(corpus["score"], calibration, settings, rescored=rescored)
    ScoreCurve.of(corpus["score"], found.curve, found.warning).write(work.url)
    kept = corpus[found.passes]
    write_array(work.scratch("selected.npy"), kept)
    dropped = {"below_threshold": len(corpus) - len(kept), PROBES: int(planted.sum())}
    result = Selected(rows=len(edges), kept=len(kept), dropped=dropped, **found.about)
    write_model(selection_url(work), result)
    return result


class _Found(NamedTuple):
    """Which edges pass, and what is known of the threshold."""

    passes: np.ndarray
    about: Figures
    curve: Known = None
    warning: str = ""


def _chosen(edges: np.ndarray, source: list[str], target: list[str], settings: ThresholdSettings) -> _Found:
    scores = edges["score"]
    if settings.top is not None:
        best = top_n(scores, settings.top)
        return _Found(best, {"threshold": float(scores[best].min()) if best.any() else None})
    if settings.gold is not None:
        gold = gold_ids(settings.gold, source[0], target[0])
        tuned = tune_on_gold(np.stack([edges["source"], edges["target"]], axis=1), scores, gold)
        about: Figures = {
            "threshold": tuned.threshold,
            "precision": tuned.precision,
            "recall": tuned.recall,
            "f1": tuned.f1,
        }
        warning = "" if tuned.f1 else "none of the gold pairs was found"
        return _Found(fixed(scores, tuned.threshold), about, tuned.curve, warning)
    if settings.at_least is None:
        return _Found(np.ones(len(edges), bool), {"threshold": None})
    return _Found(fixed(scores, settings.at_least), {"threshold": settings.at_least})


def _calibration(edges: np.ndarray, source: list[str], target: list[str]) -> Calibration:
    plan = read_plan(source, target)
    return calibrate(
        edges["source"], edges["target"], edges["score"], n_src=plan.n_src, n_tgt=plan.n_tgt, probes=plan.rows
    )


def _without_probes(scores: np.ndarray, reason: str, *, rescored: bool) -> _Found:
    """What to keep where probe pairs cannot tell: by the pair classifier, or else everything; no precision is claimed.

    Pairs that are likelier of a translation than of none were 83 to 97% right on all development text, whatever its
    kind and its share of translations; an estimate of that share would do worse (docs/results.md, Calibration).
    """
    if not rescored:
        return _Found(np.ones(len(scores), bool), {"threshold": None}, warning=f"{reason}; every matched pair is kept")
    warning = f"{reason}; kept are those that the pair classifier finds likelier right than wrong, scores of 0 or more"
    return _Found(fixed(scores, 0.0), {"threshold": 0.0}, warning=warning)


def _calibrated(scores: np.ndarray, calibration: Calibration, settings: ThresholdSettings, *, rescored: bool) -> _Found:
    assert settings.precision is not None
    try:
        point = calibration.threshold_for(settings.precision)
    except UnreachablePrecision:
        if settings.in_doubt == "refuse":
            raise
        reason = f"by the probe pairs no threshold reaches {settings.precision:.0%}"
        return _without_probes(scores, reason, rescored=rescored)
    if not point.reliable and settings.in_doubt == "classifier" and rescored:
        return _without_probes(scores, point.reason, rescored=rescored)
    about: Figures = {"threshold": point.threshold, "domain_distance": calibration.domain_distance}
    about |= {"precision_low": point.interval.low, "precision_high": point.interval.high}
    passes = fixed(scores, point.threshold)
    if not point.reliable:  # what is not known is not claimed
        return _Found(passes, about, calibration.curve, point.reason)
    about |= {"precision": point.precision, "recall": point.recall, "true_pairs": calibration.true_pairs}
    return _Found(passes, about, calibration.curve)


def _planted(edges: np.ndarray, source: list[str], target: list[str]) -> np.ndarray:
    """Edges with an end that is not of the corpus."""
    planted = np.zeros(len(edges), bool)
    for end, urls in (("source", source), ("target", target)):
        if len(urls) > 1:
            planted |= edges[end] >= open_dataset(urls[0], "sentences").rows
    return planted


def gold_ids(url: str, source: str, target: str) -> np.ndarray:
    """Gold pairs (n, 2) as sentence ids; each side is a document id, as BUCC's, or the sentence itself.

    A pair with a sentence that `prepare` dropped stays in, as -1: it counts as not found.
    """
    lines = []
    for number, line in enumerate(iterate_lines(url), 1):
        fields = line.split("\t")
        if len(fields) != 2 and line.strip():
            raise InputError(f"{url}, line {number}: {len(fields)} columns where `source TAB target` are needed")
        lines += [fields] if line.strip() else []
    sides = [_ids(dataset, [fields[side] for fields in lines]) for side, dataset in enumerate((source, target))]
    known = (sides[0] >= 0) & (sides[1] >= 0)
    if not known.any():
        raise InputError(f"{url}: no pair names sentences of {source} and {target} by document id or text")
    gold = np.stack(sides, axis=1)
    gold[~known] = -1 - np.arange((~known).sum())[:, None]  # distinct, so that each counts
    return gold


def _ids(dataset_url: str, names: list[str]) -> np.ndarray:
    """The sentence that each name stands for, -1 where there is none: all by document id, or else by text first."""
    dataset = open_dataset(dataset_url, "sentences")
    wanted = pa.array(names, pa.string())
    by_ref: dict[str, int] = {}
    by_text: dict[str, int] = {}
    for shard in dataset.shards:
        table = read_shard(dataset.shard_url(shard), ["id", "ref", "text", ALSO.name])
        for column, found in (("text", by_text), ("ref", by_ref)):
            hits = table.filter(pc.is_in(table[column], wanted))
            found |= dict(zip(hits[column].to_pylist(), hits["id"].to_pylist(), strict=True))
        if ALSO.name in table.column_names:  # a repeated line is named by its number, too
            owners = table["id"].take(pc.list_parent_indices(table[ALSO.name]))
            lines = pc.list_flatten(table[ALSO.name]).cast(pa.string())
            by_ref |= dict(zip(lines.to_pylist(), owners.to_pylist(), strict=True))
    found = by_text | by_ref if all(name in by_ref for name in names) else by_ref | by_text
    return np.array([found.get(name, -1) for name in names], np.int64)
