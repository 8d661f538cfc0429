from __future__ import annotations

import numpy as np
import pytest

from mining.scoring.prior import Ratios, probabilities, right_share, threshold_for


def _scores(share: float, count: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihood ratios of pairs of which this share is right: two normal distributions, 3 apart."""
    rng = np.random.default_rng(5)
    right = rng.random(count) < share
    return 3 * (rng.normal(size=count) + 3 * right) - 4.5, right


@pytest.mark.parametrize("share", [0.02, 0.3, 0.95])
def test_the_share_of_right_pairs_is_found_whatever_it_is(share: float) -> None:
    ratios, right = _scores(share)
    found = right_share(Ratios.of(ratios[:30_000]) + Ratios.of(ratios[30_000:]))
    assert found == pytest.approx(right.mean(), rel=0.03)


@pytest.mark.parametrize(("ratio", "share"), [(-8.0, 0.0), (8.0, 1.0)])
def test_where_all_pairs_are_alike(ratio: float, share: float) -> None:
    assert right_share(Ratios.of(np.full(10, ratio))) == pytest.approx(share, abs=1e-5)


def test_nothing_to_judge_by() -> None:
    assert right_share(Ratios.of(np.empty(0))) < 1e-5


@pytest.mark.parametrize("precision", [0.8, 0.95])
def test_the_threshold_is_the_lowest_of_the_wanted_precision(precision: float) -> None:
    ratios, right = _scores(0.1)
    binned = Ratios.of(ratios)
    share = right_share(binned)
    point = threshold_for(binned, share, precision)
    kept = point.keeps(ratios)
    assert right[kept].mean() == pytest.approx(precision, abs=0.02)
    assert point.precision == pytest.approx(precision, abs=0.005)
    assert probabilities(ratios[kept], share).min() == pytest.approx(point.probability, abs=0.01)
