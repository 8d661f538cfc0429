"""Bands of scores and samples of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.report.bands import sample_bands, score_bands

SCORES = st.lists(st.floats(0.5, 3, width=32), min_size=1, max_size=200).map(lambda x: np.array(x, np.float32))


@given(SCORES, st.integers(1, 12), st.integers(1, 30))
def test_every_score_is_in_one_band_and_no_band_is_thin(scores: np.ndarray, most: int, fewest: int) -> None:
    bands = score_bands(scores, most, fewest)
    assert bands.counts.sum() == len(scores)
    assert (np.bincount(bands.of(scores), minlength=len(bands.counts)) == bands.counts).all()
    assert len(bands.counts) == 1 or bands.counts.min() >= fewest
    assert len(bands.counts) <= most + 1
    assert (np.diff(bands.borders) > 0).all()


def test_borders_are_round() -> None:
    bands = score_bands(np.linspace(1.001, 1.499, 1000, dtype=np.float32))
    assert bands.borders.tolist() == pytest.approx([1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5])
    assert bands.label(0) == "1 – 1.05"
    assert bands.label(len(bands.counts) - 1) == "from 1.45"


@given(st.lists(st.integers(0, 4), max_size=100), st.integers(0, 60))
def test_a_sample_is_as_even_as_the_bands_allow(numbers: list[int], most: int) -> None:
    bands = np.array(numbers, np.int64)
    rows = sample_bands(bands, 5, most, np.random.default_rng(0))
    assert len(set(rows.tolist())) == len(rows) == min(most, len(bands))
    drawn, there = (np.bincount(part, minlength=5) for part in (bands[rows], bands))
    whole = drawn == there
    assert whole.all() or drawn[~whole].min() >= drawn.max() - 1 or drawn[~whole].min() >= drawn[~whole].max() - 1


def test_no_scores_no_bands() -> None:
    assert len(score_bands(np.empty(0, np.float32)).counts) == 0
