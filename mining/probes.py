"""Probe pairs, which are known translations added to the corpora: which, where, and what became of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.score_counts import ScoreCounts

MIN_PROBES = 20
FEWEST_PAIRS = 4 * MIN_PROBES  # half of them are added in full, a quarter with either side alone


class ProbePlan(NamedTuple):
    """Which seed pairs are added in full, and of which only the source or only the target sentence."""

    full: NDArray[np.int64]
    source_only: NDArray[np.int64]
    target_only: NDArray[np.int64]

    def sources(self) -> NDArray[np.int64]:
        """The seed pairs whose source sentence is added, in the order to append them to the source corpus."""
        return np.concatenate([self.full, self.source_only])

    def targets(self) -> NDArray[np.int64]:
        """The seed pairs whose target sentence is added, in the order to append them to the target corpus."""
        return np.concatenate([self.full, self.target_only])


class ProbeRows(NamedTuple):
    """Where the probes are among the rows that were mined."""

    full: NDArray[np.int64]  # (f, 2): source row, target row
    source_only: NDArray[np.int64]
    target_only: NDArray[np.int64]


def plan_probes(pairs: int, random_seed: int = 0) -> ProbePlan:
    """Half of the seed pairs whole, a quarter with the source only, a quarter with the target only, at random."""
    if pairs < FEWEST_PAIRS:
        raise InputError(
            f"{pairs} distinct seed pairs are too few to calibrate a threshold; {FEWEST_PAIRS} or more are needed"
        )
    order = np.random.default_rng(random_seed).permutation(pairs)
    full, source_only, target_only = np.split(order, [pairs // 2, pairs // 2 + pairs // 4])
    return ProbePlan(np.sort(full), np.sort(source_only), np.sort(target_only))


def distinct(source: Sequence[Hashable], target: Sequence[Hashable]) -> NDArray[np.int64]:
    """The seed pairs neither side of which stands in an earlier one: repeats are no evidence, and hide each other."""
    seen: tuple[set[Hashable], set[Hashable]] = set(), set()
    kept = []
    for number, pair in enumerate(zip(source, target, strict=True)):
        if pair[0] not in seen[0] and pair[1] not in seen[1]:
            kept.append(number)
            for side, value in zip(seen, pair, strict=True):
                side.add(value)
    return np.array(kept, np.int64)


def probe_rows(sources: NDArray, targets: NDArray, n_src: int, n_tgt: int) -> ProbeRows:
    """Read a plan back: the pair numbers of the probes behind corpora of these sizes, in the order of their rows."""
    _, src, tgt = np.intersect1d(sources, targets, assume_unique=True, return_indices=True)
    return ProbeRows(
        full=np.stack([n_src + src, n_tgt + tgt], axis=1),
        source_only=n_src + np.flatnonzero(~np.isin(sources, targets)),
        target_only=n_tgt + np.flatnonzero(~np.isin(targets, sources)),
    )


class ProbedVectors(NamedTuple):
    """Vectors of both sides with probes behind them, and of which probe pair each of those is, in their order."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    rows: ProbeRows
    source_pairs: NDArray[np.int64]
    target_pairs: NDArray[np.int64]


def add_probe_vectors(
    source: NDArray, target: NDArray, probe_source: NDArray, probe_target: NDArray, random_seed: int = 0
) -> ProbedVectors:
    """Add probe pairs that are vectors without text, such as those that come with an encoder, row by row a pair."""
    source_pairs, target_pairs = plan_vectors(probe_source, probe_target, random_seed)
    return ProbedVectors(
        source=np.concatenate([source, probe_source[source_pairs]]),
        target=np.concatenate([target, probe_target[target_pairs]]),
        rows=probe_rows(source_pairs, target_pairs, len(source), len(target)),
        source_pairs=source_pairs,
        target_pairs=target_pairs,
    )


def plan_vectors(source: NDArray, target: NDArray, random_seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows of probe vectors, row by row a pair, are added on the source side, and which on the target side."""
    if len(source) != len(target):
        raise InputError(f"{len(source)} source and {len(target)} target probe vectors are no pairs")
    chosen = distinct(*([row.tobytes() for row in side] for side in (source, target)))
    plan = plan_probes(len(chosen), random_seed)
    return chosen[plan.sources()], chosen[plan.targets()]


class Sizes(NamedTuple):
    """How many sentences could have made a match: those of the corpora, and the probes."""

    src: int
    tgt: int
    full: int
    source_only: int
    target_only: int


class Evidence(NamedTuple):
    """The scores of each kind of match."""

    corpus: ScoreCounts
    full: NDArray[np.float64]  # pairs added in full, matched with each other
    one_sided: NDArray[np.float64]  # one-sided probes matched with a corpus sentence
    mismatched: NDArray[np.float64]  # sentences of full pairs matched with a corpus sentence
    among_probes: int  # false matches of two probes
    sizes: Sizes


def gather(
    src: NDArray, tgt: NDArray, scores: NDArray[np.float64], n_src: int, n_tgt: int, probes: ProbeRows
) -> Evidence:
    """Sort the matches of corpora mined with probes in them by what they tell."""
    full = np.asarray(probes.full, np.int64).reshape(-1, 2)
    single_src, single_tgt = np.asarray(probes.source_only, np.int64), np.asarray(probes.target_only, np.int64)
    if len(full) < MIN_PROBES or len(single_src) + len(single_tgt) < MIN_PROBES:
        raise InputError(f"a calibration needs {MIN_PROBES} pairs added in full and as many one-sided ones, or more")
    src_full, tgt_full = (
        _places(ids, size, rows) for ids, size, rows in ((src, n_src, full[:, 0]), (tgt, n_tgt, full[:, 1]))
    )
    src_single, tgt_single = _places(src, n_src, single_src) >= 0, _places(tgt, n_tgt, single_tgt) >= 0
    src_corpus, tgt_corpus = ~src_single & (src_full < 0), ~tgt_single & (tgt_full < 0)
    own = (src_full >= 0) & (src_full == tgt_full)
    # A probe matched with another probe says nothing about corpus sentences, least of all when the domains differ.
    one_corpus = src_corpus != tgt_corpus
    return Evidence(
        corpus=ScoreCounts.of(scores[src_corpus & tgt_corpus]),
        full=scores[own],
        one_sided=scores[one_corpus & (src_single | tgt_single)],
        mismatched=scores[one_corpus & ((src_full >= 0) | (tgt_full >= 0))],
        among_probes=int((~src_corpus & ~tgt_corpus & ~own).sum()),
        sizes=Sizes(
            src=n_src - len(full) - len(single_src),
            tgt=n_tgt - len(full) - len(single_tgt),
            full=len(full),
            source_only=len(single_src),
            target_only=len(single_tgt),
        ),
    )


def _places(ids: NDArray, size: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each id is among the rows of probes, -1 where it is not."""
    if len(rows) and (rows.min() < 0 or rows.max() >= size):
        raise ValueError(f"a probe row is outside of the {size} rows mined")
    order = np.argsort(rows, kind="stable")
    near = order[np.minimum(np.searchsorted(rows, ids, sorter=order), len(rows) - 1)] if len(rows) else None
    return np.full(len(ids), -1, np.int64) if near is None else np.where(rows[near] == ids, near, -1)
