"""The threshold of a mine: fixed, the n best, tuned on gold pairs, or calibrated with probe pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from mining.calibration import CalibratedCurve, CalibratedPoint, Calibration, by_rank, calibrate
from mining.errors import InputError, UnreachablePrecision
from mining.files import iterate_lines
from mining.metrics import Curve, counted_curve, is_gold
from mining.score_counts import ScoreCounts
from mining.scoring.prior import precision_by_ratios
from mining.threshold import tuned
from pipelines.datasets.manifest import open_dataset, write_model
from pipelines.datasets.sentences import ALSO, read_shard
from pipelines.datasets.side_folders import SideFolders
from pipelines.datasets.work import Work
from pipelines.mine.edges import EDGE, read_array, write_array
from pipelines.mine.mine_settings import ThresholdSettings
from pipelines.mine.probe_pairs import read_plan
from pipelines.mine.score_curve import ScoreCurve

Figures = dict[str, float | None]
Known = Curve | CalibratedCurve | None
NO_GOLD = np.empty((0, 2), np.int64)
_EVEN = 0.0  # the score at which the pair classifier finds a pair as likely right as wrong
_FEW = 0.15
_UNLIKELY, _TIMES_AS_WRONG = -2.0, 3.0
_MARGINS = ("values.npy", "counts.npy", "probes.npy")
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


class Matched(NamedTuple):
    """What a threshold needs to know of matched edges."""

    scores: ScoreCounts  # of pairs of two corpus sentences
    hits: ScoreCounts  # of those that are gold pairs
    probes: np.ndarray  # the edges with an end that is not of the corpus

    @classmethod
    def of(cls, edges: np.ndarray, corpora: tuple[int, int], gold: np.ndarray) -> Matched:
        """`corpora` are the sizes of the two, `gold` (pairs, 2) their true pairs."""
        probes = is_probe(edges, corpora)
        corpus = edges[~probes]
        pairs = np.stack([corpus["source"], corpus["target"]], axis=1)
        hits = corpus["score"][is_gold(pairs, gold)] if len(gold) and len(corpus) else corpus["score"][:0]
        return cls(ScoreCounts.of(corpus["score"]), ScoreCounts.of(hits), edges[probes])

    @classmethod
    def united(cls, parts: Sequence[Matched]) -> Matched:
        return cls(
            ScoreCounts.united(part.scores for part in parts),
            ScoreCounts.united(part.hits for part in parts),
            np.concatenate([np.zeros(0, EDGE), *(part.probes for part in parts)]),
        )


def keep_margins(work: Work, matched: Matched) -> None:
    """Keep aside what a threshold needs to know of what the margin alone matches."""
    for name, array in zip(_MARGINS, (*matched.scores, matched.probes), strict=True):
        write_array(work.scratch("margins", name), array)


def _kept_margins(work: Work) -> Matched:
    values, counts, probes = (read_array(work.scratch("margins", name)) for name in _MARGINS)
    return Matched(ScoreCounts(values, counts), ScoreCounts.none(), probes)


def is_probe(edges: np.ndarray, corpora: tuple[int, int]) -> np.ndarray:
    return (edges["source"] >= corpora[0]) | (edges["target"] >= corpora[1])


def select(
    work: Work,
    matched: Matched,
    gold: np.ndarray,
    source: SideFolders,
    target: SideFolders,
    settings: ThresholdSettings,
    *,
    rescored: bool = False,
) -> Selected:
    """How many of all matched pairs, the best ones, pass the threshold.

    `curve.json`, which stays beside the pairs, tells of those that do not pass.
    """
    scores = matched.scores
    if settings.precision is None:
        found = _chosen(matched, gold, settings)
    elif source.probes is None:
        found = _without_probes(scores, "there are too few probe pairs of these languages", rescored=rescored)
    else:
        calibration = _calibration(work, matched, source, target, rescored)
        found = _calibrated(scores, calibration, settings, rescored=rescored)
    ScoreCurve.of(scores, found.curve, found.warning).write(work.url)
    dropped = {"below_threshold": scores.total - found.kept, PROBES: len(matched.probes)}
    rows = scores.total + len(matched.probes)
    result = Selected(rows=rows, kept=found.kept, dropped=dropped, **found.about)
    write_model(selection_url(work), result)
    return result


class _Found(NamedTuple):
    """How many pairs pass, and what is known of the threshold."""

    kept: int
    about: Figures
    curve: Known = None
    warning: str = ""


def _chosen(matched: Matched, gold: np.ndarray, settings: ThresholdSettings) -> _Found:
    scores = matched.scores
    if settings.top is not None:
        kept = min(settings.top, scores.total)
        return _Found(kept, {"threshold": float(scores.at(kept - 1)) if kept else None})
    if settings.gold is not None:
        best = tuned(counted_curve(scores, matched.hits, len(np.unique(gold, axis=0))))
        about: Figures = {
            "threshold": best.threshold,
            "precision": best.precision,
            "recall": best.recall,
            "f1": best.f1,
        }
        warning = "" if best.f1 else "none of the gold pairs was found"
        return _Found(scores.at_least(best.threshold), about, best.curve, warning)
    if settings.at_least is None:
        return _Found(scores.total, {"threshold": None})
    return _Found(scores.at_least(settings.at_least), {"threshold": settings.at_least})


def _calibration(work: Work, matched: Matched, source: SideFolders, target: SideFolders, rescored: bool) -> Calibration:
    """By the margins; those of re-scored pairs were kept aside, and are transferred to the other scores by rank."""
    plan = read_plan(source, target)
    by_margin = _kept_margins(work) if rescored else matched
    edges = by_margin.probes
    calibration = calibrate(
        edges["source"], edges["target"], edges["score"],
        n_src=plan.n_src, n_tgt=plan.n_tgt, probes=plan.rows, corpus=by_margin.scores,
    )  # fmt: skip
    return by_rank(calibration, matched.scores) if rescored else calibration


def _without_probes(scores: ScoreCounts, reason: str, *, rescored: bool) -> _Found:
    """What to keep where probe pairs tell nothing: by the pair classifier, or else everything; no precision is claimed.

    Where a third and more of the sentences have a translation, 83 to 97% of what it scores 0 or more is right; where
    few have one, far less (docs/tried.md, Calibration).
    """
    if not rescored:
        return _Found(scores.total, {"threshold": None}, warning=f"{reason}; every matched pair is kept")
    kept = scores.at_least(_EVEN)
    warning = f"{reason}; kept are pairs that the classifier finds more likely right than wrong, scores of 0 or more"
    if kept < _FEW * scores.total:
        warning += f", which are only {kept / scores.total:.0%} of all: the texts may have few translations in common"
    return _Found(kept, {"threshold": _EVEN}, warning=warning)


def _calibrated(
    scores: ScoreCounts, calibration: Calibration, settings: ThresholdSettings, *, rescored: bool
) -> _Found:
    assert settings.precision is not None
    try:
        point = calibration.threshold_for(settings.precision)
    except UnreachablePrecision:
        if settings.in_doubt == "refuse":
            raise
        reason = f"by the probe pairs no threshold reaches {settings.precision:.0%}"
        return _without_probes(scores, reason, rescored=rescored)
    denied = _denial(point, scores) if rescored else ""
    if denied:
        point = point._replace(reliable=False, reason=denied, best_guess=False)
    if not point.reliable and settings.in_doubt == "classifier" and rescored:
        if not point.best_guess:
            return _without_probes(scores, point.reason, rescored=rescored)
        point = calibration.at(max(point.threshold, _EVEN))  # the stricter of the two
    about: Figures = {"threshold": point.threshold, "domain_distance": calibration.domain_distance}
    about |= {"precision_low": point.interval.low, "precision_high": point.interval.high}
    kept = scores.at_least(point.threshold)
    if not point.reliable:  # what is not known is not claimed
        return _Found(kept, about, calibration.curve, point.reason)
    about |= {"precision": point.precision, "recall": point.recall, "true_pairs": calibration.true_pairs}
    return _Found(kept, about, calibration.curve)


def _denial(point: CalibratedPoint, scores: ScoreCounts) -> str:
    """What the pair classifier has against the estimate, where much is to be kept that it finds wrong."""
    if not point.reliable or point.threshold >= _UNLIKELY:
        return ""
    second = precision_by_ratios(scores, point.threshold)
    if 1 - second < _TIMES_AS_WRONG * (1 - point.precision):
        return ""
    return f"{point.precision:.0%} by the probe pairs, but {second:.0%} by the pair classifier"


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
        table = read_shard(dataset.shard_url(shard), ["id", "line", "ref", "text", ALSO.name])
        for column, found in (("text", by_text), ("ref", by_ref)):
            hits = table.filter(pc.is_in(table[column], wanted))
            found |= dict(zip(hits[column].to_pylist(), hits["id"].to_pylist(), strict=True))
        if ALSO.name in table.column_names:  # of a file with vectors, whose lines are named by their numbers
            repeated = table["id"].take(pc.list_parent_indices(table[ALSO.name]))
            for lines, owners in ((table["line"], table["id"]), (pc.list_flatten(table[ALSO.name]), repeated)):
                by_ref |= dict(zip(lines.cast(pa.string()).to_pylist(), owners.to_pylist(), strict=True))
    found = by_text | by_ref if all(name in by_ref for name in names) else by_ref | by_text
    return np.array([found.get(name, -1) for name in names], np.int64)
