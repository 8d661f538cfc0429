"""Candidate neighbours from blocked matrix products on the CPU, with compiled selection.

Unit float32 vectors are multiplied, so a proposed similarity is within `error_bound(dim)` of the true cosine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.threads import Threads
from mining.top_k import MISSING, sweep
from mining.vectors import Vectors

_LITTLE_WORK = 2e9  # multiply-adds that NumPy does in less time than torch takes to load


class Blocks(NamedTuple):
    """Rows and columns of one matrix product."""

    rows: int = 2048
    columns: int = 8192


class Proposals(NamedTuple):
    """The best `width` of each row and each column of a cell, descending, in places within the cell."""

    row_scores: np.ndarray  # (rows, width) float32
    row_places: np.ndarray  # (rows, width) int32
    column_scores: np.ndarray  # (columns, width) float32
    column_places: np.ndarray  # (columns, width) int32


def error_bound(dim: int) -> float:
    """How far a float32 dot product of rounded unit vectors can be from the truth, in any order of summation."""
    return (dim + 16) * 2.0**-24


def is_little(source: Vectors, target: Vectors) -> bool:
    """Whether a cell is done before torch would be loaded."""
    return float(len(source)) * len(target) * source.dim < _LITTLE_WORK


def unit_rows(vectors: Vectors, start: int, stop: int) -> np.ndarray:
    """Rows `start` to `stop` as unit float32 vectors."""
    unit = np.asarray(vectors.stored[start:stop]).astype(np.float32)
    return np.multiply(unit, vectors.inverse_norms[start:stop, None].astype(np.float32), out=unit)


def multiply(rows: np.ndarray, columns: np.ndarray, out: np.ndarray, pool: Threads | None) -> None:
    """`rows @ columns.T`, by torch, which is faster, where there is a pool of threads for it."""
    if pool is None:
        with np.errstate(invalid="ignore"):  # rows that do not take part are NaN
            np.matmul(rows, columns.T, out=out)
        return
    torch = pool.torch()
    torch.mm(torch.from_numpy(rows), torch.from_numpy(columns).T, out=torch.from_numpy(out))


def propose_compiled(source: Vectors, target: Vectors, width: int, blocks: Blocks, pool: Threads) -> Proposals:
    """Each product is swept once by compiled code for rows and columns together.

    A thread owns some rows of every block and keeps lists of its own for the columns; they are joined at the end.
    """
    row_scores, row_places = empty_lists(len(source), width)
    shares = [empty_lists(len(target), width) for _ in range(pool.count)]
    cutoffs = [np.full(len(target), -np.inf, np.float32) for _ in range(pool.count)]
    columns = unit_rows(target, 0, len(target))
    buffer = np.empty(min(blocks.rows, len(source)) * min(blocks.columns, len(target)), np.float32)
    multiplier = None if is_little(source, target) else pool
    for top in range(0, len(source), blocks.rows):
        rows = unit_rows(source, top, top + blocks.rows)
        for left in range(0, len(target), blocks.columns):
            right = min(left + blocks.columns, len(target))
            block = buffer[: len(rows) * (right - left)].reshape(len(rows), right - left)
            multiply(rows, columns[left:right], block, multiplier)

            def work(thread: int, start: int, stop: int) -> None:
                scores, places = shares[thread]
                sweep(
                    block[start:stop],  # noqa: B023 - finished before the loop goes on
                    row_scores[top + start : top + stop],  # noqa: B023
                    row_places[top + start : top + stop],  # noqa: B023
                    scores[left:right],  # noqa: B023
                    places[left:right],  # noqa: B023
                    cutoffs[thread][left:right],  # noqa: B023
                    top + start,  # noqa: B023
                    left,  # noqa: B023
                )

            pool.over_rows(len(rows), work)
            # What is below the last candidate of any thread is below the last of all: fewer insertions from here on.
            best = np.maximum.reduce([cutoff[left:right] for cutoff in cutoffs])
            for cutoff in cutoffs:
                cutoff[left:right] = best
    column_scores, column_places = _join(shares, width)
    return Proposals(row_scores, row_places, column_scores, column_places)


def empty_lists(rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((rows, width), -np.inf, np.float32), np.full((rows, width), MISSING, np.int32)


def _join(shares: list[tuple[np.ndarray, np.ndarray]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """The best `width` of each column over the threads' lists."""
    scores = np.concatenate([scores for scores, _ in shares], axis=1)
    places = np.concatenate([places for _, places in shares], axis=1)
    order = np.argsort(-scores, axis=1)[:, :width]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(places, order, 1)
