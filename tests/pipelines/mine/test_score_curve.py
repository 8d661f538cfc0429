"""Histograms and thinned curves of scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.metrics import label_curve
from mining.score_counts import ScoreCounts
from pipelines.mine.score_curve import ScoreCurve, histogram, thinned


@given(st.lists(st.floats(0, 2, width=32), max_size=300))
def test_every_score_is_in_the_histogram(values: list[float]) -> None:
    edges, counts = histogram(ScoreCounts.of(np.array(values, np.float32)))
    assert sum(counts) == len(values)
    assert edges == sorted(edges)


@pytest.mark.parametrize("points", [0, 1, 300, 9000])
def test_a_thinned_curve_keeps_its_ends(points: int) -> None:
    kept = thinned(points).tolist()
    assert len(kept) == min(points, 300) and kept[:1] == [0][:points] and kept[-1:] == [points - 1][:points]


def test_what_is_written_is_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    scores = np.linspace(2, 1, 1000, dtype=np.float32)
    curve = ScoreCurve.of(ScoreCounts.of(scores), label_curve(scores, scores > 1.5, 600))
    curve.write(str(tmp_path))
    assert ScoreCurve.read(str(tmp_path)) == curve
    assert (curve.basis, curve.kept[-1], len(curve.threshold)) == ("gold", 1000, 300)
    plain = ScoreCurve.of(ScoreCounts.of(scores[::-1]), None)
    assert (plain.basis, plain.kept[0], plain.threshold[0], plain.precision) == ("none", 1, 2.0, [])
    assert ScoreCurve.read(str(tmp_path / "none")) is None


def test_the_lowest_threshold_that_reaches_a_precision() -> None:
    scores = np.array([1.9, 1.8, 1.7, 1.6], np.float32)
    curve = ScoreCurve.of(ScoreCounts.of(scores), label_curve(scores, np.array([True, True, False, True]), 3))
    assert curve.reaching(0.9) == pytest.approx(1.8)
    assert curve.reaching(0.75) == pytest.approx(1.6)
    assert ScoreCurve.of(ScoreCounts.of(scores), None).reaching(0.5) is None
