"""Precision from marks: bands are weighed, bounds hold, and a threshold follows."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from mining.errors import InputError
from pipelines.mine import work_folder
from pipelines.mine.review_result import ReviewCurve, ReviewResult
from pipelines.report.bands import score_bands
from pipelines.review.estimate import Marked, estimate, precision_curve, wilson
from pipelines.review.marks import Verdict
from pipelines.review.review_sample import ReviewSample, SampledPair

EMPTY = ReviewCurve(threshold=[], kept=[], precision=[], precision_low=[], precision_high=[])


def marked_sample(
    scores: np.ndarray, true: np.ndarray, each: int, rng: np.random.Generator
) -> tuple[ReviewSample, dict[str, Verdict]]:
    """So many pairs of each band, all of them marked as they are."""
    bands = score_bands(scores, 10, 20)
    numbers = bands.of(scores)
    rows = [row for band in range(len(bands.counts)) for row in rng.permutation(np.flatnonzero(numbers == band))[:each]]
    sampled = [SampledPair(key=str(r), band=int(numbers[r]), score=float(scores[r]), src="", tgt="") for r in rows]
    sample = ReviewSample(pairs="f", langs=("en", "de"), counts=bands.counts.tolist(), sampled=sampled)
    return sample, {str(row): "right" if true[row] else "wrong" for row in rows}


def test_every_band_counts_as_often_as_it_has_pairs() -> None:
    scores = np.array([1.9] * 100 + [1.1] * 900, np.float32)
    true = np.arange(1000) % 2 == 0
    true[:100] = True
    sample, verdicts = marked_sample(scores, true, 40, np.random.default_rng(0))
    share = np.mean([verdicts[pair.key] == "right" for pair in sample.sampled if pair.score < 1.5])
    result = estimate(sample, scores, verdicts, 0.9)
    assert result.curve.precision[0] == 1.0
    assert result.curve.precision[-1] == pytest.approx(0.1 + 0.9 * share)
    assert (result.threshold, result.kept) == (pytest.approx(1.9), 100)


def test_bounds_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(100):
        scores = np.sort(rng.gamma(4, 0.1, 5000) + 0.8)[::-1]
        true = rng.random(5000) < 0.95 / (1 + np.exp(-8 * (scores - 1.1)))
        curve = estimate(*_reordered(marked_sample(scores, true, 20, rng), scores), 0.9).curve
        for place in (100, 200, 299):
            truth = true[: curve.kept[place]].mean()
            held.append(curve.precision_low[place] <= truth <= curve.precision_high[place])
    assert 0.84 < np.mean(held) < 0.98, "they say 90%"


def _reordered(
    drawn: tuple[ReviewSample, dict[str, Verdict]], scores: np.ndarray
) -> tuple[ReviewSample, np.ndarray, dict[str, Verdict]]:
    return drawn[0], scores, drawn[1]


def test_bounds_do_not_collapse_where_all_marks_agree() -> None:
    scores = np.linspace(2, 1, 500)
    lows = []
    for count in (5, 50):
        marked = Marked(np.linspace(2, 1, count), np.ones(count, bool), np.full(count, 500 / count))
        curve = precision_curve(scores, marked)
        assert curve.precision[-1] == curve.precision_high[-1] == 1.0
        lows.append(curve.precision_low[-1])
    assert lows[0] < lows[1] < 1.0


def test_nothing_is_known_without_marks_nor_above_the_best() -> None:
    scores = np.linspace(2, 1, 100)
    assert precision_curve(scores, Marked(np.empty(0), np.empty(0, bool), np.empty(0))) == EMPTY
    curve = precision_curve(scores, Marked(np.array([1.5]), np.array([True]), np.array([100.0])))
    assert (curve.precision_low[0], curve.precision_high[0]) == pytest.approx((0, 1), abs=1e-6)
    assert 0.2 < curve.precision_low[-1] < 0.3


def test_wilson_interval_is_that_of_the_textbook() -> None:
    low, high = wilson(np.array([0.9]), np.array([50.0]))
    expected = binomtest(45, 50).proportion_ci(0.9, "wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_a_threshold_is_read_from_the_review_of_a_mine_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = SimpleNamespace(pairs=SimpleNamespace(fingerprint="f"))
    monkeypatch.setattr(work_folder, "find_mines", lambda workdir: [mine])
    url = str(tmp_path / "review.json")
    with pytest.raises(InputError, match="no such file; `twinlode review"):
        work_folder.reviewed_threshold(url, "work")
    result = ReviewResult(pairs="f", right=3, wrong=4, skipped=0, wanted=0.9, threshold=None, curve=EMPTY)
    result.write(str(tmp_path))
    with pytest.raises(InputError, match=r"no threshold reaches the precision 0\.9"):
        work_folder.reviewed_threshold(url, "work")
    result.model_copy(update={"threshold": 1.25}).write(str(tmp_path))
    assert work_folder.reviewed_threshold(url, "work") == 1.25
    result.model_copy(update={"threshold": 1.25, "pairs": "g"}).write(str(tmp_path))
    with pytest.raises(InputError, match="the review of another mine than those in work"):
        work_folder.reviewed_threshold(url, "work")
