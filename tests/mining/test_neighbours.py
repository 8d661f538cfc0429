"""Neighbour lists: merging of parts, means, and the file that they are kept in."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.errors import InputError
from mining.neighbours import Neighbours, merge, read_neighbours, write_neighbours
from mining.top_k import MISSING


def lists(*rows: list[tuple[int, float]], k: int) -> Neighbours:
    made = Neighbours.none(len(rows), k)
    for place, row in enumerate(rows):
        for slot, (number, score) in enumerate(row):
            made.ids[place, slot], made.scores[place, slot] = number, score
    return made


def contents(neighbours: Neighbours) -> list[list[tuple[int, float]]]:
    return [
        [(int(number), float(score)) for number, score in zip(*row, strict=True) if number != MISSING]
        for row in zip(*neighbours, strict=True)
    ]


CASES = {
    "the best of both": ([[(1, 0.5), (2, 0.25)]], [[(7, 0.75), (8, 0.125)]], 2, [[(7, 0.75), (1, 0.5)]]),
    "ties go to the lowest id": ([[(9, 0.5)]], [[(3, 0.5)]], 2, [[(3, 0.5), (9, 0.5)]]),
    "once delivered twice": ([[(1, 0.5), (2, 0.25)]], [[(1, 0.5), (2, 0.25)]], 3, [[(1, 0.5), (2, 0.25)]]),
    "fewer than k": ([[(1, 0.5)]], [[]], 4, [[(1, 0.5)]]),
    "negative cosines": ([[(1, -0.5)]], [[(2, -0.25)]], 1, [[(2, -0.25)]]),
    "row by row": ([[(1, 0.5)], []], [[], [(2, 0.5)]], 1, [[(1, 0.5)], [(2, 0.5)]]),
}


@pytest.mark.parametrize(("one", "other", "k", "expected"), CASES.values(), ids=CASES)
def test_merge(one: list, other: list, k: int, expected: list) -> None:
    parts = [lists(*rows, k=max(map(len, [*one, *other]))) for rows in (one, other)]
    for order in (parts, parts[::-1]):
        merged = merge(order, k)
        assert contents(merged) == expected
        assert merged.ids.shape == (len(one), k)


@given(
    st.lists(st.dictionaries(st.integers(0, 9), st.sampled_from([0.0, 0.25, 0.5]), max_size=3), min_size=3, max_size=3)
)
def test_merging_may_be_grouped_in_any_way(parts: list[dict[int, float]]) -> None:
    """Over ids with one score each, as cosines are."""
    scores = {number: score for part in parts for number, score in part.items()}
    made = [lists(sorted(((n, scores[n]) for n in part), key=lambda x: (-x[1], x[0])), k=3) for part in parts]
    expected = sorted(scores.items(), key=lambda x: (-x[1], x[0]))[:3]
    for a, b, c in itertools.permutations(made):
        assert contents(merge([merge([a, b], 3), c], 3)) == contents(merge([a, b, c], 3)) == [expected]


def test_means_are_of_those_that_exist() -> None:
    assert lists([(1, 0.5), (2, 0.25)], [(3, 0.5)], [], k=2).means().tolist() == [0.375, 0.5, 0.0]


def test_file_holds_ids_lists_and_metadata(tmp_path: Path) -> None:
    made = lists([(2**40, 0.5), (2, 0.25)], [], [(3, -1.0)], k=2)
    url = str(tmp_path / "graph.parquet")
    write_neighbours(url, np.array([5, 6, 9]), made, {"direction": "forward"})
    ids, found, metadata = read_neighbours(url)
    assert ids.tolist() == [5, 6, 9]
    assert contents(found) == contents(made) and found.ids.shape == (3, 2)
    assert metadata["direction"] == "forward"


@pytest.mark.parametrize("content", [b"", b"PAR1 cut off"])
def test_damaged_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"graph.parquet: not a Parquet file"):
        read_neighbours(str(tmp_path / "graph.parquet"))
