import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.even_rows import evenly_spread, spread_between


@pytest.mark.parametrize(
    ("count", "most", "expected"),
    [
        (0, 5, []),
        (0, 0, []),
        (7, 0, []),
        (1, 5, [0]),
        (7, 1, [0]),
        (7, 2, [0, 6]),
        (5, 5, [0, 1, 2, 3, 4]),
        (3, 5, [0, 1, 2]),
        (10, 4, [0, 3, 6, 9]),
        (11, 4, [0, 3, 6, 10]),
    ],
)
def test_places(count: int, most: int, expected: list[int]) -> None:
    found = evenly_spread(count, most)
    assert found.tolist() == expected and found.dtype == np.int64


@given(st.integers(1, 10**10), st.integers(2, 5000))
def test_sorted_different_and_from_end_to_end(count: int, most: int) -> None:
    found = evenly_spread(count, most)
    gaps = np.diff(found)
    assert len(found) == min(count, most)
    assert (found[0], found[-1]) == (0, count - 1)
    assert (gaps > 0).all() and (not len(gaps) or gaps.max() - gaps.min() <= 1)


@given(st.integers(0, 300), st.integers(0, 50), st.integers(1, 40))
def test_parts_are_the_whole(count: int, most: int, size: int) -> None:
    parts = [spread_between(first, first + size, count, most) for first in range(0, count, size)]
    assert all((part // size == number).all() for number, part in enumerate(parts))
    assert [row for part in parts for row in part.tolist()] == evenly_spread(count, most).tolist()
