import numpy as np
import pytest

from mining.margin import SMALLEST_MEAN, Margin, margin_scores


@pytest.mark.parametrize(
    ("margin", "cosine", "a", "b", "expected"),
    [
        (Margin.absolute, 0.8, 0.5, 0.3, 0.8),
        (Margin.distance, 0.8, 0.5, 0.3, 0.4),
        (Margin.ratio, 0.8, 0.5, 0.3, 2.0),
        (Margin.ratio, 0.0, 0.5, 0.3, 0.0),
        (Margin.ratio, 0.8, 0.0, 0.0, 0.8 / SMALLEST_MEAN),
        (Margin.ratio, -0.2, -0.5, -0.3, -0.2 / SMALLEST_MEAN),
        (Margin.distance, -0.2, -0.5, -0.3, 0.2),
    ],
)
def test_values(margin: Margin, cosine: float, a: float, b: float, expected: float) -> None:
    score = margin_scores(np.array([cosine]), np.array([a]), np.array([b]), margin)
    assert score.dtype == np.float32
    assert score[0] == pytest.approx(expected, rel=1e-6)


def test_never_infinite() -> None:
    grid = np.linspace(-1, 1, 21)
    cosine, a, b = (part.ravel() for part in np.meshgrid(grid, grid, grid))
    for margin in Margin:
        assert np.isfinite(margin_scores(cosine, a, b, margin)).all()
