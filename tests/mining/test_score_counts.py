"""Counted scores say the same as all scores, however they are united."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.score_counts import ScoreCounts

SCORES = st.lists(st.sampled_from(np.float32([0.25, 0.9, 0.9000001, 1.0, 1.1, 1.25, 3.0]).tolist()), min_size=1)


@given(SCORES, st.floats(0, 1), st.integers(1, 5))
def test_as_of_all_scores(scores: list[float], share: float, parts: int) -> None:
    everything = np.array(scores, np.float32)
    counts = ScoreCounts.united([ScoreCounts.of(part) for part in np.array_split(everything, parts)])
    best_first = np.sort(everything)[::-1]
    assert counts.total == len(scores)
    np.testing.assert_array_equal(counts.at(np.arange(len(scores))), best_first)
    np.testing.assert_array_equal(np.repeat(counts.values, counts.counts), best_first)
    assert counts.quantile(share) == np.quantile(everything.astype(np.float64), share)
    assert counts.at_least(1.0) == (everything >= 1.0).sum()
    edges = np.linspace(0.5, 1.25, 7)
    np.testing.assert_array_equal(counts.histogram(edges), np.histogram(everything, edges)[0])
    assert counts.kept.tolist() == [(everything >= value).sum() for value in counts.values]


@pytest.mark.parametrize("parts", [[], [ScoreCounts.none()], [ScoreCounts.none(), ScoreCounts.of([])]])
def test_nothing(parts: list[ScoreCounts]) -> None:
    nothing = ScoreCounts.united(parts)
    assert (nothing.total, nothing.at_least(0.0), len(nothing.at([]))) == (0, 0, 0)


def test_parts_in_order_take_little_memory() -> None:
    scores = np.linspace(2, 0.5, 400_000, dtype=np.float32)
    parts = [ScoreCounts.of(part) for part in np.array_split(np.unique(scores)[::-1], 5)]
    tracemalloc.start()
    together = ScoreCounts.united(parts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(together.values, np.unique(scores)[::-1])
    assert peak < 1.2 * sum(column.nbytes for column in together), "values and counts, and no copies to sort"
