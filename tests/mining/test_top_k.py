"""The compiled kernels, each against a line of NumPy."""

import numpy as np
import pytest

from mining.top_k import MISSING, cosines, dot, norms, refine, sweep


def swept(similarities: np.ndarray, width: int, rows: int, columns: int) -> list[np.ndarray]:
    """Lists of all rows and columns, from blocks of so many rows and columns."""
    n, m = similarities.shape
    scores = [np.full((count, width), -np.inf, np.float32) for count in (n, m)]
    places = [np.full((count, width), MISSING, np.int32) for count in (n, m)]
    for i in range(0, n, rows):
        for j in range(0, m, columns):
            block = np.ascontiguousarray(similarities[i : i + rows, j : j + columns])
            own, other = slice(i, i + rows), slice(j, j + columns)
            cutoffs = scores[1][other, -1].copy()
            sweep(block, scores[0][own], places[0][own], scores[1][other], places[1][other], cutoffs, i, j)
    return [scores[0], places[0], scores[1], places[1]]


@pytest.mark.parametrize(("rows", "columns"), [(50, 150), (7, 64), (50, 1), (1, 150), (13, 65)])
def test_sweep_finds_the_best_of_rows_and_columns_whatever_the_blocks(rows: int, columns: int) -> None:
    similarities = np.random.default_rng(0).permutation(50 * 150).reshape(50, 150).astype(np.float32)
    row_scores, row_places, column_scores, column_places = swept(similarities, 4, rows, columns)
    for scores, places, matrix in (
        (row_scores, row_places, similarities),
        (column_scores, column_places, similarities.T),
    ):
        expected = np.argsort(-matrix, axis=1)[:, :4]
        assert (places == expected).all()
        assert (scores == np.take_along_axis(matrix, expected, 1)).all()


def test_sweep_leaves_room_where_there_are_fewer() -> None:
    row_scores, row_places, _, column_places = swept(np.array([[0.5, -0.5]], np.float32), 3, 1, 2)
    assert row_places.tolist() == [[0, 1, MISSING]] and row_scores[0, 2] == -np.inf
    assert column_places.tolist() == [[0, MISSING, MISSING]] * 2


@pytest.mark.parametrize("dim", [1, 31, 32, 33, 100])
def test_dot_norms_and_cosines(dim: int) -> None:
    rng = np.random.default_rng(dim)
    x, y = (rng.standard_normal((5, dim), dtype=np.float32) for _ in range(2))
    wide = x.astype(np.float64), y.astype(np.float64)
    assert dot(x[0], y[0]) == pytest.approx(wide[0][0] @ wide[1][0], rel=1e-12, abs=1e-12)
    lengths = np.empty((2, 5))
    for rows, out in zip((x, y), lengths, strict=True):
        norms(rows, out)
    np.testing.assert_allclose(lengths, [np.linalg.norm(side, axis=1) for side in wide], rtol=1e-12)
    out = np.empty(3, np.float32)
    cosines(x, 1 / lengths[0], y, 1 / lengths[1], np.array([0, 4, 4]), np.array([1, 0, 4]), out)
    expected = (wide[0] / lengths[0][:, None]) @ (wide[1] / lengths[1][:, None]).T
    np.testing.assert_allclose(out, expected[[0, 4, 4], [1, 0, 4]], rtol=1e-6)


def refined(
    proposed: list[float], places: list[int], truth: list[float], k: int, bound: float
) -> tuple[list, list, bool]:
    """One row whose cosine with column j is truth[j]."""
    x = np.array([[1.0, 0.0]], np.float32)
    y = np.array([[value, np.sqrt(1 - value**2)] for value in truth], np.float32)
    scores, found = np.array([proposed], np.float32), np.array([places], np.int32)
    certain = np.zeros(1, bool)
    refine(x, np.ones(1), y, np.ones(len(y)), scores, found, k, bound, certain)
    return found[0].tolist(), scores[0].tolist(), bool(certain[0])


CASES = {
    "wrong order is mended": ([0.5, 0.49, 0.1], [1, 0, 2], [0.5, 0.49, 0.1], 2, 0.02, [0, 1, 2], True),
    "ties go to the lowest place": ([0.5, 0.5, 0.1], [2, 0, 1], [0.5, 0.1, 0.5], 2, 0.02, [0, 2, 1], True),
    "one left out might be better": ([0.5, 0.49, 0.48], [0, 1, 2], [0.5, 0.49, 0.48], 2, 0.02, [0, 1, 2], False),
    "all columns are candidates": ([0.5, 0.49, -np.inf], [0, 1, MISSING], [0.5, 0.49], 2, 0.02, [0, 1, MISSING], True),
}


@pytest.mark.parametrize(("proposed", "places", "truth", "k", "bound", "expected", "proven"), CASES.values(), ids=CASES)
def test_refine(proposed: list, places: list, truth: list, k: int, bound: float, expected: list, proven: bool) -> None:
    found, scores, certain = refined(proposed, places, truth, k, bound)
    assert (found, certain) == (expected, proven)
    assert scores[:2] == pytest.approx(sorted(truth, reverse=True)[:2], abs=1e-6)
