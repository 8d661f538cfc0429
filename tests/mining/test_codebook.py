"""The codebook: cells of vectors against a full comparison, and training that repeats itself."""

import numpy as np
import pytest

from mining import codebook as module
from mining.codebook import ALL_CELLS, Codebook, cell_count, compared, train_codebook
from mining.threads import thread_pool


def unit(rows: int, dim: int = 32, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize(("rows", "cells"), [((128_000, 128_000), 1000), ((0, 1), 1), ((300, 0), 1), ((100, 412), 2)])
def test_cells_hold_so_many_rows_of_the_mean_side(rows: tuple[int, int], cells: int) -> None:
    assert cell_count(*rows) == cells


@pytest.mark.parametrize("products", [1, 1 << 21])  # that are there at once: of as few rows as may be, and of many
@pytest.mark.parametrize("int8", [False, True])
def test_nearest_cells_are_those_of_a_full_comparison(
    int8: bool, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_PRODUCTS", products)
    monkeypatch.setattr(module, "int8_is_fast", lambda: int8)
    book, rows = Codebook(unit(200)), unit(500, seed=1)
    with thread_pool(2) as pool:
        found = book.nearest(rows, 6, pool)
    cosines = rows @ book.centroids.T
    expected = np.argsort(-cosines, axis=1, kind="stable")[:, :6]
    monkeypatch.setattr(module, "int8_is_fast", lambda: not int8)
    with thread_pool(1) as pool:
        np.testing.assert_array_equal(Codebook(book.centroids).nearest(rows, 6, pool), found)
    worst = np.take_along_axis(cosines, expected, 1)[:, -1] - np.take_along_axis(cosines, found, 1).min(1)
    assert worst.max() < 0.02  # what rounding to bytes can change


@pytest.mark.parametrize("int8", [False, True])
def test_centroids_of_groups_give_nearly_the_same_cells(int8: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "int8_is_fast", lambda: int8)
    book, rows = Codebook(unit(2000, dim=16)), unit(500, dim=16, seed=1)
    with thread_pool(1) as pool:
        expected = book.nearest(rows, 4, pool)
        monkeypatch.setattr(module, "ALL_CELLS", 40)  # 2,000 centroids in 83 groups, and these in 3
        found = book.nearest(rows, 4, pool)
        parts = [Codebook(book.centroids).nearest(part, 4, pool) for part in (rows[:7], rows[7:])]
    with thread_pool(3) as pool:
        np.testing.assert_array_equal(Codebook(book.centroids).nearest(rows, 4, pool), found)
    np.testing.assert_array_equal(np.concatenate(parts), found)  # whatever else is in the batch
    assert all(len(set(row)) == 4 for row in found.tolist())  # a centroid is in several groups, and found once
    assert (found[:, :, None] == expected[:, None, :]).any(2).mean() > 0.95


def test_all_centroids_are_compared_where_the_groups_have_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    book, rows = Codebook(unit(300)), unit(20, seed=1)
    with thread_pool(1) as pool:
        expected = book.nearest(rows, 290, pool)
        monkeypatch.setattr(module, "ALL_CELLS", 40)
        monkeypatch.setattr(module, "_MORE_GROUPS", 1)
        np.testing.assert_array_equal(book.nearest(rows, 290, pool), expected)


def test_a_vector_is_compared_with_few_of_many_centroids() -> None:
    assert compared(ALL_CELLS) == ALL_CELLS
    assert compared(8 * ALL_CELLS) < ALL_CELLS
    assert compared(2000 * ALL_CELLS) < 3 * ALL_CELLS
    assert compared(ALL_CELLS, several=True) == ALL_CELLS < compared(8 * ALL_CELLS, several=True) < 2 * ALL_CELLS


def test_a_codebook_finds_the_clusters_and_repeats_itself() -> None:
    centres = unit(20)
    noise = 0.1 * np.random.default_rng(1).standard_normal((2000, 32)).astype(np.float32)
    sample = np.repeat(centres, 100, axis=0) + noise
    sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    with thread_pool(2) as pool:
        book = train_codebook(sample, 60, pool)
        again = train_codebook(sample, 60, pool)
    np.testing.assert_array_equal(book.centroids, again.centroids)
    np.testing.assert_allclose(np.linalg.norm(book.centroids, axis=1), 1, atol=1e-5)
    assert (centres @ book.centroids.T).max(1).min() > 0.85


def test_copies_do_not_take_the_centroids_of_others() -> None:
    sample = np.concatenate([np.repeat(unit(1), 5000, axis=0), unit(50, seed=1)])
    with thread_pool(1) as pool:
        assert len(train_codebook(sample, 40, pool)) > 35


def test_copies_of_one_vector_make_one_cell() -> None:
    with thread_pool(1) as pool:
        book = train_codebook(np.repeat(unit(1), 50, axis=0), 8, pool)
        assert len(book) == 1
        assert book.nearest(unit(3), 8, pool).shape == (3, 1)
