from __future__ import annotations

import numpy as np
import pytest

from mining.scoring.prior import BINS, Components, Planted, Ratios, fit_mixture, threshold_for

_MEANS = np.array([5.0, 1.0, -8.0])  # log ratios of right pairs, of near misses, of unrelated sentences


def _scores(shares: tuple[float, float, float], count: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Log ratios and the component of each pair: normal distributions."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(3, count, p=shares)
    return _MEANS[kinds] + 1.5 * rng.normal(size=count), kinds


@pytest.fixture(scope="module")
def components() -> Components:
    return Components.of([_scores((0.4, 0.5, 0.1), 20_000, 1), _scores((0.8, 0.1, 0.1), 20_000, 2)])


@pytest.mark.parametrize("shares", [(0.05, 0.9, 0.05), (0.3, 0.0, 0.7), (0.5, 0.25, 0.25), (0.97, 0.03, 0.0)])
@pytest.mark.parametrize("precision", [0.8, 0.95])
def test_whatever_the_noise_the_precision_is_as_promised(
    components: Components, shares: tuple[float, float, float], precision: float
) -> None:
    ratios, kinds = _scores(shares, 40_000)
    binned = Ratios.of(ratios[:30_000]) + Ratios.of(ratios[30_000:])
    mixture = fit_mixture(binned, components)
    assert mixture.share == pytest.approx((kinds == 0).mean(), abs=0.02)
    point = threshold_for(binned, mixture, precision)
    kept = point.keeps(ratios)
    true = (kinds[kept] == 0).mean()
    assert point.precision >= precision
    assert point.precision - 0.02 < true < point.precision + 0.1  # rather too strict than too lax
    assert mixture.probabilities(ratios[kept]).min() == pytest.approx(point.probability)


@pytest.mark.parametrize(("mean", "share"), [(-8.0, 0.0), (5.0, 1.0)])
def test_where_all_pairs_are_alike(components: Components, mean: float, share: float) -> None:
    ratios = mean + 1.5 * np.random.default_rng(0).normal(size=2000)
    assert fit_mixture(Ratios.of(ratios), components).share == pytest.approx(share, abs=0.02)


def test_chances_never_fall_and_are_unknown_where_scores_are(components: Components) -> None:
    mixture = fit_mixture(Ratios.of(_scores((0.5, 0.3, 0.2), 1000)[0]), components)
    assert (np.diff(mixture.chances) >= 0).all()
    assert np.isnan(mixture.probabilities(np.array([np.nan, 3.0]))).tolist() == [True, False]


def test_nothing_to_judge_by(components: Components) -> None:
    mixture = fit_mixture(Ratios.of(np.empty(0)), components)
    assert threshold_for(Ratios.of(np.empty(0)), mixture, 0.95).precision == 1.0


def test_one_pair_tells_no_shares() -> None:
    densities = np.full((3, BINS), 1e-6)
    densities[0, BINS // 2 :], densities[1:, : BINS // 2] = 1.0, 1.0
    components = Components(densities / densities.sum(axis=1, keepdims=True))
    for ratio, low, high in ((5.0, 0.5, 0.8), (-5.0, 0.2, 0.5)):
        assert low < fit_mixture(Ratios.of(np.array([ratio])), components).share < high
    many = Ratios.of(np.array([5.0] * 9000 + [-5.0] * 1000))
    assert abs(fit_mixture(many, components).share - 0.9) < 0.03


@pytest.mark.parametrize("shares", [(0.8, 0.2), (0.5, 0.5), (0.2, 0.8)])
def test_planted_noise_tells_flawed_pairs_from_right_ones_of_less_known_text(shares: tuple[float, float]) -> None:
    rng = np.random.default_rng(4)

    def scores(kind: str, count: int) -> np.ndarray:
        means = {"right": 3.0, "flawed": -1.0, "unrelated": -6.0, "right here": 0.5, "flawed here": -4.0}
        return rng.normal(means[kind], 1.2, count)

    trained = [scores(kind, 5000) for kind in ("right", "flawed", "unrelated")]
    components = Components.of([(np.concatenate(trained), np.repeat([0, 1, 2], 5000))])
    right, flawed = (
        scores(kind, int(4000 * share)) for kind, share in zip(("right here", "flawed here"), shares, strict=True)
    )
    ratios = Ratios.of(np.concatenate([right, flawed]))
    before = rng.choice(np.concatenate([right, flawed]), 1000)
    spoilt = np.where(before > -1.7, scores("flawed here", 1000), scores("unrelated", 1000))
    planted = Planted(
        np.tile(before, 2), np.concatenate([spoilt, scores("unrelated", 1000)]), np.repeat([True, False], 1000)
    )
    found = fit_mixture(ratios, components, planted)
    assert found.share == pytest.approx(shares[0], abs=0.06)
    assert abs(fit_mixture(ratios, components).share - shares[0]) > abs(found.share - shares[0])
    kept = threshold_for(ratios, found, 0.95).keeps
    assert kept(right).mean() > 0.7
    assert kept(right).sum() / (kept(right).sum() + kept(flawed).sum()) > 0.93
