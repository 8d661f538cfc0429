"""Calibration on simulated corpora of which the truth is known."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from mining.calibration import Calibration, by_rank, calibrate
from mining.errors import InputError
from mining.knn import knn_graph
from mining.probes import add_probe_vectors, plan_probes, probe_rows
from mining.retrieval import retrieve
from mining.score_counts import ScoreCounts
from mining.vectors import from_array


class Simulation(NamedTuple):
    calibration: Calibration
    scores: np.ndarray  # of corpus pairs
    true: np.ndarray
    pairs: int


@cache
def simulate(
    rows: int,
    pairs: int,
    seeds: int = 800,
    seed: int = 0,
    scale: float = 1.0,
    shift: float = 0.0,
    mean: float = 1.35,
    found_share: float = 0.95,
    copies: int = 0,
    cohesion: float = 0.0,
    mismatched: float = 0.7,
) -> Simulation:
    """Mined corpora: true pairs score around `mean`, false matches around 1.02 with an exponential tail.

    `copies` corpus pairs that are no translations score higher than all true pairs. A probe is matched with another
    probe, rather than with any sentence, in the share `cohesion` of its false matches. `mismatched` of the sentences
    without a counterpart are matched.
    """
    rng = np.random.default_rng(seed)
    plan = plan_probes(seeds, seed)
    n = rows + len(plan.sources())
    probes = probe_rows(plan.sources(), plan.targets(), rows, rows)
    # Row i is a true pair with row i for the first `pairs` corpus rows and for the full probes.
    paired = np.concatenate([np.arange(pairs), probes.full[:, 0]])
    found = paired[rng.random(len(paired)) < found_share]
    free = np.setdiff1d(np.arange(n), found)
    left_src, left_tgt = (_shuffled(rng, free, rows, cohesion) for _ in range(2))
    count = int(mismatched * len(free))
    src, tgt = np.concatenate([found, left_src[:count]]), np.concatenate([found, left_tgt[:count]])
    false_scores = 0.98 + rng.gamma(2.0, 0.03, count)
    corpus_ends = np.flatnonzero((left_src[:count] < rows) & (left_tgt[:count] < rows))
    false_scores[corpus_ends[:copies]] = rng.normal(1.9, 0.05, copies)
    scores = np.concatenate([rng.normal(mean, 0.12, len(found)), false_scores]) * scale + shift
    result = calibrate(src, tgt, scores.astype(np.float32), n_src=n, n_tgt=n, probes=probes, random_seed=seed)
    corpus = (src < rows) & (tgt < rows)
    true = (src == tgt) & (np.arange(len(src)) < len(found))
    return Simulation(result, scores[corpus], true[corpus] & (src[corpus] < pairs), pairs)


def _shuffled(rng: np.random.Generator, free: np.ndarray, rows: int, cohesion: float) -> np.ndarray:
    """In random order; both sides have the probes that keep together at the same places, at the front."""
    probes, corpus = rng.permutation(free[free >= rows]), rng.permutation(free[free < rows])
    together = int(cohesion * len(probes))
    return np.concatenate([probes[:together], rng.permutation(np.concatenate([probes[together:], corpus]))])


@pytest.mark.parametrize(("rows", "pairs"), [(20000, 800), (4000, 800), (1500, 750), (1000, 950)])
@pytest.mark.parametrize("seed", [0, 1])
def test_estimates_are_near_the_truth(rows: int, pairs: int, seed: int) -> None:
    result, scores, true, _ = simulate(rows, pairs, seed=seed)
    assert result.true_pairs == pytest.approx(pairs, rel=0.15)
    assert result.interval.low <= pairs <= 1.1 * result.interval.high
    for threshold in (1.1, 1.15, 1.2, 1.3):
        kept = scores >= threshold
        point = result.at(threshold)
        assert point.kept == kept.sum()
        assert point.precision == pytest.approx(true[kept].mean(), abs=0.06)
        assert point.recall == pytest.approx(true[kept].sum() / pairs, abs=0.1)


@pytest.mark.parametrize("target", [0.8, 0.9, 0.95])
def test_threshold_for_a_target(target: float) -> None:
    result, scores, true, _ = simulate(20000, 800)
    point = result.threshold_for(target)
    assert point.precision >= target
    assert true[scores >= point.threshold].mean() == pytest.approx(target, abs=0.05)
    assert np.count_nonzero(scores.astype(np.float32) >= point.threshold) == point.kept


def test_naive_precision_would_be_far_off() -> None:
    """Among probes nearly every match above 1.1 is right; in the corpus two of three are wrong."""
    result, scores, true, _ = simulate(40000, 400)
    assert true[scores >= 1.1].mean() < 0.4
    assert result.at(1.1).precision < 0.45


def test_no_true_pairs() -> None:
    result = simulate(20000, 0).calibration
    assert result.true_pairs < 30
    assert result.at(1.1).precision < 0.05
    with pytest.raises(InputError, match=r"no threshold reaches the precision 0.9: the estimate is at most"):
        result.threshold_for(0.9)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, -1.0), (0.5, 0.0), (100.0, 7.0)])
def test_any_scale_of_scores(scale: float, shift: float) -> None:
    plain, moved = simulate(5000, 500), simulate(5000, 500, scale=scale, shift=shift)
    assert moved.calibration.true_pairs == pytest.approx(plain.calibration.true_pairs, rel=0.02)
    ours = moved.calibration.at(1.2 * scale + shift).precision
    assert ours == pytest.approx(plain.calibration.at(1.2).precision, abs=0.02)


def test_curve_is_monotone_and_ordered() -> None:
    curve = simulate(5000, 500).calibration.curve
    assert (np.diff(curve.threshold) < 0).all()
    assert (np.diff(curve.kept) > 0).all()
    assert (np.diff(curve.precision) <= 1e-12).all()
    assert (np.diff(curve.recall) >= 0).all()
    assert (curve.precision_low <= curve.precision_high).all()
    assert ((curve.precision >= 0) & (curve.precision <= 1)).all()


def test_same_seed_same_answer() -> None:
    first, second = (simulate.__wrapped__(2000, 200).calibration for _ in range(2))
    assert first.interval == second.interval
    np.testing.assert_array_equal(first.curve.precision_low, second.curve.precision_low)


def test_above_every_score_nothing_is_kept() -> None:
    point = simulate(2000, 200).calibration.at(99.0)
    assert (point.kept, point.recall) == (0, 0.0)


def test_no_matches_at_all() -> None:
    nothing = np.empty(0, np.int64)
    plan = plan_probes(80)
    result = calibrate(
        nothing,
        nothing,
        np.empty(0),
        n_src=160,
        n_tgt=160,
        probes=probe_rows(plan.sources(), plan.targets(), 100, 100),
    )
    assert len(result.curve.threshold) == 0
    with pytest.raises(InputError, match="no threshold reaches"):
        result.threshold_for(0.5)


@pytest.mark.parametrize("target", [0.0, 1.5, -1.0])
def test_impossible_targets(target: float) -> None:
    with pytest.raises(InputError, match="above 0 and at most 1"):
        simulate(2000, 200).calibration.threshold_for(target)


def test_probes_that_keep_together_are_of_another_domain() -> None:
    assert simulate(4000, 800).calibration.domain_distance < 0.2
    assert simulate(4000, 800, cohesion=0.5).calibration.domain_distance > 0.5


def test_a_sound_estimate_is_reliable_and_has_an_interval_that_holds() -> None:
    result, scores, true, _ = simulate(4000, 800)
    point = result.threshold_for(0.9)
    assert point.reliable
    assert point.reason == ""
    assert point.interval.low <= true[scores >= point.threshold].mean() <= point.interval.high
    assert point.interval.high - point.interval.low < 0.15


@pytest.mark.parametrize("pairs", [30, 600, 2900])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_weak_encoder_is_not_claimed_to_be_precise(pairs: int, seed: int) -> None:
    """A quarter of the pairs found, with scores like those of false matches: 200 seed pairs once claimed 0.90 here."""
    result = simulate(3000, pairs, seeds=200, seed=seed, mean=1.08, found_share=0.26).calibration
    for threshold in np.quantile(result.curve.threshold, [0.3, 0.6, 0.9]):
        point = result.at(threshold)
        assert not point.reliable
        assert "too weak" in point.reason


def test_few_probes_and_a_wide_interval_are_said() -> None:
    result = simulate(3000, 1500, seeds=80, mean=1.15).calibration
    point = max(
        (result.at(x) for x in result.curve.threshold[200::50]), key=lambda at: at.interval.high - at.interval.low
    )
    assert not point.reliable
    assert point.best_guess
    assert "the precision may be anything from" in point.reason


@pytest.mark.parametrize("mismatched", [0.0, 0.005, 0.02])
def test_text_that_is_all_parallel_has_hardly_a_false_match(mismatched: float) -> None:
    result = simulate(1500, 1500, found_share=0.99, mismatched=mismatched).calibration
    point = result.threshold_for(0.9)
    assert point.reliable
    assert point.precision > 0.95
    assert point.kept > 1400


def test_nothing_is_claimed_of_a_handful_of_pairs() -> None:
    point = simulate(4000, 800).calibration.at(1.65)
    assert 0 < point.kept < 50
    assert not point.reliable
    assert not point.best_guess
    assert "too few" in point.reason


def test_copies_among_the_best_scores_are_noticed() -> None:
    sound, copied = simulate(4000, 400).calibration, simulate(4000, 400, copies=200).calibration
    assert not sound.top.suspicious
    assert sound.top.warning() == ""
    assert copied.top.suspicious
    assert "copied text, boilerplate, lists of numbers" in copied.top.warning()
    point = copied.at(1.2)
    assert not point.reliable
    assert point.reason == copied.top.warning()


@pytest.mark.parametrize(("noise", "reliable"), [(0.5, True), (1.6, False)])
def test_probes_that_are_vectors_without_text(noise: float, reliable: bool) -> None:
    """From vectors to the estimate: 1,500 sentences a side with 450 true pairs, and 300 probe pairs."""
    rng = np.random.default_rng(0)
    rows, pairs = 1500, 450
    meaning = rng.standard_normal((rows + 300, 48))
    other = np.concatenate([meaning[:pairs], rng.standard_normal((rows - pairs, 48)), meaning[rows:]])
    x, y = ((side + noise * rng.standard_normal(side.shape)).astype(np.float32) for side in (meaning, other))
    probed = add_probe_vectors(x[:rows], y[:rows], x[rows:], y[rows:])
    edges = retrieve(knn_graph(from_array(probed.source), from_array(probed.target), 4))
    sizes = {"n_src": len(probed.source), "n_tgt": len(probed.target)}
    found = calibrate(edges.source, edges.target, edges.scores, **sizes, probes=probed.rows)
    threshold = float(np.sort(edges.scores)[-pairs])
    point = found.at(threshold)
    kept = (edges.scores >= threshold) & (edges.source < rows) & (edges.target < rows)
    truth = ((edges.source == edges.target) & (edges.source < pairs))[kept].mean()
    assert point.reliable is reliable
    assert point.interval.low - 0.02 <= truth <= point.interval.high + 0.02


def test_another_score_takes_the_estimates_over_by_rank() -> None:
    found = simulate(20_000, 2_000)
    better = found.scores + 0.1 * found.true  # ranks at least as well
    moved = by_rank(found.calibration, ScoreCounts.of(better))
    point, before = moved.threshold_for(0.9), found.calibration.threshold_for(0.9)
    assert (point.kept, point.precision, point.interval) == (before.kept, before.precision, before.interval)
    kept = better >= point.threshold
    assert kept.sum() == point.kept
    assert found.true[kept].mean() > found.true[found.scores >= before.threshold].mean()
    assert not len(by_rank(found.calibration, ScoreCounts.none()).curve.kept)
