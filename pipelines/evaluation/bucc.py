"""BUCC bitext mining (Zweigenbaum et al. 2018): F1 of mined pairs, threshold tuned on the training gold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from mining.calibration import Calibration, by_rank
from mining.errors import InputError, UnreachablePrecision
from mining.margin import Margin
from mining.metrics import Curve, is_gold
from mining.neighbours import KnnGraph
from mining.retrieval import Edges, Retrieval, retrieve
from mining.score_counts import ScoreCounts
from mining.threshold import tune_on_gold
from mining.threshold_transfer import transferred
from pipelines.evaluation.benchmark import Attachment, Benchmark, Choice, Outcome, Score, averaged, graph_of
from pipelines.evaluation.benchmark_files import DataFolder, Texts
from pipelines.evaluation.calibrated import (
    EmbeddedProbes,
    best_threshold,
    calibrated,
    read_seed,
    seed_probes,
    shipped_probe_vectors,
)
from pipelines.evaluation.comparable import Comparable, find_pairs, has_split, read_comparable, wanted_pairs
from pipelines.evaluation.samples import Statistic, TestItems, f1_percent, precision_percent
from pipelines.evaluation.sources import EncodedTexts, EncoderNeeded, VectorSource
from pipelines.mine.rescoring import SideTexts, find_classifier, matched, rescored_candidates, seed_lexicon

TUNED, SAME = "F1, threshold from training gold", "F1, threshold from the same gold (flatters)"
MOVED = "F1, threshold from training gold, moved with the noise"
CALIBRATED = "F1, threshold without gold (calibrated)"
PROMISED = "true precision at the threshold for an estimated {:g}"
Way = tuple[Retrieval, str]  # and margin, or "rescored"
RESCORED: Way = (Retrieval.max, "rescored")
_LEXICON_PAIRS = 20_000
_GROUPS = 4096  # of source sentences, which the bootstrap draws


@dataclass(frozen=True)
class Mined:
    """The pairs of one way to mine, before any threshold."""

    edges: Edges
    curve: Curve
    threshold: float
    f1: float

    @classmethod
    def of(cls, edges: Edges, corpora: Comparable) -> Mined:
        tuned = tune_on_gold(_pairs(edges), edges.scores, corpora.gold)
        return cls(edges, tuned.curve, tuned.threshold, tuned.f1)


@dataclass(frozen=True)
class Tuning:
    """What was mined from training corpora, by way to mine."""

    corpora: Comparable
    mined: dict[Way, Mined]

    def thresholds(self, way: Way, test: Mined) -> dict[str, float]:
        """For each kind of figure that training gold allows the threshold for `test`."""
        tuned = self.mined[way]
        return {TUNED: tuned.threshold, MOVED: transferred(tuned.threshold, tuned.edges.scores, test.edges.scores)}


class Bucc(Benchmark):
    """The published BUCC 2017/2018 folders, or the same without split names.

    `train` is the folder of the training side where it is another one (its texts are called `train/...`); else the
    `.training` files of `data` are it. With `seed_pairs`, TSV files such as `seeds/{source}-{target}.tsv`, or with
    `probes: encoder`, there are also the figures of thresholds that need no gold.
    Without any training gold, or without test gold (BUCC never published it), only the same-gold figure exists.
    """

    benchmark: Literal["bucc"] = "bucc"
    train: str | None = Field(None, description="Folder of the training side, where it is another one.")
    split: Literal["training", "test", "sample", "dev"] | None = Field(
        None, description="Report on these files by their own gold: dev (XTREME's) or sample is what mSimCSE reports."
    )
    seed_pairs: str | None = Field(None, description="Known translations, such as `seeds/{source}-{target}.tsv`.")
    seed_size: int = Field(1000, ge=80, description="Most known translations that become probe pairs.")
    probes: Literal["seed", "encoder"] = Field(
        "seed", description="Where probe pairs come from: `seed_pairs`, or the default encoder's own probe vectors."
    )
    precision: float = Field(0.9, gt=0, le=1, description="Report how precise pairs truly are that promise to be.")
    random_seed: int = Field(0, description="Of whatever is drawn.")
    pairs: tuple[str, ...] = Field((), description="Such as de-en; all that are there if empty.")
    k: int = Field(4, ge=1, description="Neighbours that a margin is measured against.")
    retrievals: tuple[Retrieval, ...] = Field(tuple(Retrieval), description="Ways to choose pairs to report on.")
    margins: tuple[Margin, ...] = Field(tuple(Margin), description="Margins to report on.")
    main: tuple[Retrieval, Margin] = Field(
        (Retrieval.max, Margin.ratio), description="Retrieval and margin that the table leads with."
    )
    cosine: tuple[Retrieval, Margin] = Field(
        (Retrieval.forward, Margin.absolute),
        description="What VMSST calls BUCC (cosine): the nearest English sentence by cosine.",
    )
    examples: int = Field(20, ge=0, description="Mined pairs that gold does not have, to be shown.")
    classifier: str | None = Field(
        None,
        description="Also report candidates rescored by this pair classifier: a folder, or `beside` the encoder.",
    )
    lexicon_pairs: str | None = Field(None, description="Known translations for its lexicon, named as `seed_pairs`.")

    def run(self, source: VectorSource, data: DataFolder) -> Outcome:
        outcome = Outcome([], self._choices())
        splits = {pair: self._splits(data, pair) for pair in self._pairs_there(data)}
        tunings = {pair: Tuning(train, self._mine(source, data, train)) for pair, (train, _) in splits.items() if train}
        for pair, (_, test) in splits.items():
            self._pair(source, data, test, tunings.get(pair), outcome)
        outcome.scores += _averages(outcome.scores)
        return outcome

    def _choices(self) -> list[Choice]:
        return [
            Choice("k", str(self.k)),
            Choice("main", " ".join(self.main)),
            Choice("cosine", f"{' '.join(self.cosine)} (absolute is the plain cosine)"),
            Choice("repeated sentences", "kept"),
            Choice("kept", "score >= threshold"),
            *([Choice("seed pairs", f"{self.seed_size:,} of {self.seed_pairs}")] if self._seeded else []),
        ]

    def _pairs_there(self, data: DataFolder) -> list[str]:
        there = [pair for pair in find_pairs(data) if not self.split or has_split(data, pair, self.split)]
        if not there:
            raise InputError(f"{data.root}: no corpora of the split {self.split}")
        return wanted_pairs(data, self.pairs, there)

    def _pair(
        self,
        source: VectorSource,
        data: DataFolder,
        test: Comparable,
        tuning: Tuning | None,
        outcome: Outcome,
    ) -> None:
        mined, pair = self._mine(source, data, test), test.pair
        tuned_on = f"tuned on gold of {tuning.corpora.source.name}" if tuning else "same gold only"
        outcome.choices += [
            Choice(f"{pair} reported on", f"{test.source.name}, {len(test.gold):,} gold pairs"),
            Choice(f"{pair} threshold", tuned_on),
        ]
        for way, result in mined.items():
            headline = way in (self.main, self.cosine, RESCORED)
            thresholds = tuning.thresholds(way, result) if tuning else {}
            for metric, threshold in (thresholds | {SAME: result.threshold}).items():
                outcome.scores.append(_score(test, way, result, threshold, metric, headline))
        if self._seeded or self.probes == "encoder":
            self._calibrated(source, data, test, mined, outcome)
        for way in dict.fromkeys((self.main, self.cosine)):
            outcome.attachments.append(_curve_table(pair, way, mined[way].curve))
        threshold = (tuning.mined if tuning else mined)[self.main].threshold
        outcome.attachments.append(_examples(test, mined[self.main], threshold, self.examples))

    @property
    def _seeded(self) -> bool:
        return self.probes == "seed" and self.seed_pairs is not None

    def _probe_vectors(self, source: VectorSource, data: DataFolder, test: Comparable) -> EmbeddedProbes:
        if self.probes == "encoder":
            return shipped_probe_vectors(source, test)
        pairs = read_seed(str(data.root / str(self.seed_pairs)), test.pair, self.seed_size, self.random_seed)
        data.digests.update({texts.name: texts.digest for texts in pairs})
        return seed_probes(source, pairs)

    def _calibrated(
        self, source: VectorSource, data: DataFolder, test: Comparable, mined: dict[Way, Mined], outcome: Outcome
    ) -> None:
        """The scores of the thresholds that probe pairs choose: of the best F1, and for the wanted precision."""
        mine = partial(self._edges, source=source, data=data, way=self.main)
        found = calibrated(source, test, self._probe_vectors(source, data, test), mine, self.k, self.random_seed)
        self._promised(test, self.main, mined[self.main], found, outcome)
        if RESCORED in mined:
            transferred = by_rank(found, ScoreCounts.of(mined[RESCORED].edges.scores))
            self._promised(test, RESCORED, mined[RESCORED], transferred, outcome)

    def _promised(self, test: Comparable, way: Way, mined: Mined, found: Calibration, outcome: Outcome) -> None:
        outcome.scores.append(_score(test, way, mined, best_threshold(found), CALIBRATED, True))
        name = f"{test.pair} {' '.join(way)} for a precision of {self.precision:g}"
        try:
            point = found.threshold_for(self.precision)
        except UnreachablePrecision as error:
            outcome.choices.append(Choice(name, str(error)))
            return
        metric = PROMISED.format(self.precision)
        outcome.scores.append(_score(test, way, mined, point.threshold, metric, True, precision_percent))
        low, high = point.interval
        claim = "claimed" if point.reliable else f"not claimed, as {point.reason}"
        outcome.choices.append(
            Choice(name, f"{point.kept:,} pairs score {point.threshold:.4f} or more, {low:.1%} to {high:.1%}, {claim}")
        )

    def _splits(self, data: DataFolder, pair: str) -> tuple[Comparable | None, Comparable]:
        """The training side if there is one, and what is reported on."""
        training: Comparable | None = None
        if self.split is not None:
            return None, read_comparable(data, pair, self.split)
        if self.train is not None:
            elsewhere = DataFolder(beside(data.root, self.train), f"{data.prefix}train/", data.digests)
            split = next((s for s in ("training", "only") if has_split(elsewhere, pair, s)), None)
            if split is None:
                raise InputError(f"{elsewhere.root}: no training corpora of {pair} with gold")
            training = read_comparable(elsewhere, pair, split)
        elif has_split(data, pair, "training"):
            training = read_comparable(data, pair, "training")
        for split in ("test", "only"):
            if has_split(data, pair, split):
                return training, read_comparable(data, pair, split)
        if training is not None:
            return None, training
        return None, read_comparable(data, pair, "sample" if has_split(data, pair, "sample") else "dev")

    def _mine(self, source: VectorSource, data: DataFolder, corpora: Comparable) -> dict[Way, Mined]:
        graph = graph_of(source.vectors(corpora.source), source.vectors(corpora.target), self.k)
        every: list[Way] = [self.main, self.cosine, *((r, m) for r in self.retrievals for m in self.margins)]
        ways = dict.fromkeys([*every, RESCORED] if self.classifier else every)
        sides = corpora.source, corpora.target
        return {way: Mined.of(self._edges(graph, *sides, source, data, way), corpora) for way in ways}

    def _edges(
        self, graph: KnnGraph, left: Texts, right: Texts, source: VectorSource, data: DataFolder, way: Way
    ) -> Edges:
        """The pairs of a graph by one way to mine."""
        if way != RESCORED:
            return retrieve(graph, way[0], Margin(way[1]))
        if not isinstance(source, EncodedTexts):
            raise EncoderNeeded("a pair classifier needs an encoder: vectors alone do not tell the words")
        classifier = find_classifier(source.name, None if self.classifier == "beside" else self.classifier)
        if classifier is None:
            raise InputError(f"{source.name}: no pair classifier beside this encoder; make one with train-classifier")
        lexicon = None
        if self.lexicon_pairs is not None:
            pair = f"{left.lang}-{right.lang}"
            known = read_seed(str(data.root / self.lexicon_pairs), pair, _LEXICON_PAIRS, self.random_seed)
            lexicon = seed_lexicon(*(SideTexts(texts.lines, texts.lang) for texts in known))
        here, there = (SideTexts(side.lines, side.lang) for side in (left, right))
        edges = rescored_candidates(graph, here, there, source.encoder, classifier, lexicon)
        return matched(edges, len(left), len(right))


def pair_counts(edges: Edges, threshold: float, gold: np.ndarray, sources: int) -> np.ndarray:
    """For each source sentence its (correct, found, gold) pairs: what F1 is made of, and what the bootstrap draws."""
    kept = edges.take(edges.scores >= threshold)
    right = kept.source[is_gold(_pairs(kept), gold)]
    counted = [np.bincount(rows, minlength=sources) for rows in (right, kept.source, gold[:, 0])]
    return np.stack(counted, axis=1)  # (sources, 3)


def _score(
    test: Comparable,
    way: Way,
    mined: Mined,
    threshold: float,
    metric: str,
    headline: bool,
    statistic: Statistic = f1_percent,
) -> Score:
    sample = TestItems(_folded(pair_counts(mined.edges, threshold, test.gold, len(test.source))), statistic)
    return Score(f"{test.pair} {' '.join(way)}", metric, sample.value(), sample, headline=headline)


def _folded(counts: np.ndarray) -> np.ndarray:
    """Source sentences in groups, the same for every encoder: intervals as good, in a tenth of the time."""
    groups = min(len(counts), _GROUPS)
    folded = np.zeros((groups, counts.shape[1]), counts.dtype)
    np.add.at(folded, np.arange(len(counts)) % groups, counts)
    return folded


def _averages(scores: list[Score]) -> list[Score]:
    """The mean over language pairs for each way to mine."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.dataset.partition(" ")[2], score.metric), []).append(score)
    return [
        averaged(f"mean of {len(group)}: {way}", group, headline=group[0].headline)
        for (way, _), group in groups.items()
        if len(group) > 1
    ]


def _pairs(edges: Edges) -> np.ndarray:
    return np.stack([edges.source, edges.target], axis=1)


def _curve_table(pair: str, way: Way, curve: Curve) -> Attachment:
    rows = list(zip(*(column.tolist() for column in curve), strict=True))
    return Attachment(f"{pair}.{way[0]}-{way[1]}.curve", Curve._fields, rows)


def _examples(test: Comparable, mined: Mined, threshold: float, count: int) -> Attachment:
    """The best pairs above the threshold that gold does not have (EMS Table 7): some are gold's mistakes."""
    edges = mined.edges.take(mined.edges.scores >= threshold)
    wrong = edges.take(~is_gold(_pairs(edges), test.gold)).take(slice(count))
    rows = [
        (round(float(score), 4), test.source_ids[i], test.target_ids[j], test.source.lines[i], test.target.lines[j])
        for i, j, score in zip(wrong.source.tolist(), wrong.target.tolist(), wrong.scores.tolist(), strict=True)
    ]
    return Attachment(f"{test.pair}.not-in-gold", ("score", "source_id", "target_id", "source", "target"), rows)


def beside(root: Path, folder: str) -> Path:
    """`folder` as the user wrote it: from here, or else from beside the test's folder."""
    return Path(folder) if Path(folder).is_dir() else root.parent / folder
