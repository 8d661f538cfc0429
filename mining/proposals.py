"""Candidate neighbours from blocked matrix products: compiled selection on the CPU, torch on any other device.

Both take unit float32 vectors, so a proposed similarity is within `error_bound(dim)` of the true cosine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from mining.threads import Threads
from mining.top_k import MISSING, sweep
from mining.vectors import Vectors

Report = Callable[[float], object]


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


def unit_rows(vectors: Vectors, start: int, stop: int, device: str = "cpu") -> torch.Tensor:
    """Rows `start` to `stop` as unit float32 vectors on the device."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        stored = torch.from_numpy(np.asarray(vectors.stored[start:stop]))
    inverse = torch.from_numpy(vectors.inverse_norms[start:stop].astype(np.float32)).to(device)
    return stored.to(device, torch.float32) * inverse[:, None]


def propose_compiled(
    source: Vectors, target: Vectors, width: int, blocks: Blocks, pool: Threads, report: Report
) -> Proposals:
    """Torch multiplies, compiled code sweeps each product once for rows and columns together.

    A thread owns some rows of every block and keeps lists of its own for the columns; they are joined at the end.
    """
    row_scores, row_places = _empty_lists(len(source), width)
    shares = [_empty_lists(len(target), width) for _ in range(pool.count)]
    floors = [np.full(len(target), -np.inf, np.float32) for _ in range(pool.count)]
    columns = unit_rows(target, 0, len(target))
    buffer = torch.empty(min(blocks.rows, len(source)) * min(blocks.columns, len(target)))
    for top in range(0, len(source), blocks.rows):
        rows = unit_rows(source, top, top + blocks.rows)
        for left in range(0, len(target), blocks.columns):
            right = min(left + blocks.columns, len(target))
            product = buffer[: len(rows) * (right - left)].view(len(rows), right - left)
            torch.mm(rows, columns[left:right].T, out=product)
            block = product.numpy()

            def work(thread: int, start: int, stop: int) -> None:
                scores, places = shares[thread]
                sweep(
                    block[start:stop],  # noqa: B023 - finished before the loop goes on
                    row_scores[top + start : top + stop],  # noqa: B023
                    row_places[top + start : top + stop],  # noqa: B023
                    scores[left:right],  # noqa: B023
                    places[left:right],  # noqa: B023
                    floors[thread][left:right],  # noqa: B023
                    top + start,  # noqa: B023
                    left,  # noqa: B023
                )

            pool.over_rows(len(rows), work)
            # What is below the last candidate of any thread is below the last of all: fewer insertions from here on.
            best = np.maximum.reduce([floor[left:right] for floor in floors])
            for floor in floors:
                floor[left:right] = best
            report(float(len(rows)) * (right - left) * source.dim)
    column_scores, column_places = _join(shares, width)
    return Proposals(row_scores, row_places, column_scores, column_places)


def propose_torch(
    source: Vectors, target: Vectors, width: int, blocks: Blocks, device: str, report: Report
) -> Proposals:
    """The same with torch's own top-k, for a GPU."""
    row_lists: list[tuple[torch.Tensor, torch.Tensor]] = []
    columns = unit_rows(target, 0, len(target), device)
    below = torch.full((0, len(target)), -torch.inf, device=device)
    below_places = torch.empty((0, len(target)), dtype=torch.int64, device=device)
    for top in range(0, len(source), blocks.rows):
        rows = unit_rows(source, top, top + blocks.rows, device)
        beside = torch.full((len(rows), 0), -torch.inf, device=device)
        beside_places = torch.empty((len(rows), 0), dtype=torch.int64, device=device)
        best, best_places = [], []
        for left in range(0, len(target), blocks.columns):
            right = min(left + blocks.columns, len(target))
            product = (rows @ columns[left:right].T).nan_to_num_(nan=-torch.inf)
            beside, beside_places = _keep(beside, beside_places, product, left, width, dim=1)
            scores, places = _keep(below[:, left:right], below_places[:, left:right], product, top, width, dim=0)
            best.append(scores)
            best_places.append(places)
            report(float(len(rows)) * (right - left) * source.dim)
        below, below_places = torch.cat(best, 1), torch.cat(best_places, 1)
        row_lists.append((beside, beside_places))
    row_scores, row_places = torch.cat([s for s, _ in row_lists]), torch.cat([p for _, p in row_lists])
    return Proposals(*_as_lists(row_scores, row_places, width), *_as_lists(below.T, below_places.T, width))


def _keep(
    scores: torch.Tensor, places: torch.Tensor, product: torch.Tensor, first: int, width: int, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best `width` of a running list and a new block, along `dim`."""
    block_scores, block_places = product.topk(min(width, product.shape[dim]), dim=dim)
    scores, places = torch.cat([scores, block_scores], dim), torch.cat([places, block_places + first], dim)
    scores, order = scores.topk(min(width, scores.shape[dim]), dim=dim)
    return scores, places.gather(dim, order)


def _as_lists(scores: torch.Tensor, places: torch.Tensor, width: int) -> tuple[np.ndarray, np.ndarray]:
    full_scores, full_places = _empty_lists(len(scores), width)
    full_scores[:, : scores.shape[1]] = scores.cpu().numpy()
    full_places[:, : places.shape[1]] = places.cpu().numpy()
    full_places[np.isneginf(full_scores)] = MISSING
    return full_scores, full_places


def _empty_lists(rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((rows, width), -np.inf, np.float32), np.full((rows, width), MISSING, np.int32)


def _join(shares: list[tuple[np.ndarray, np.ndarray]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """The best `width` of each column over the threads' lists."""
    scores = np.concatenate([scores for scores, _ in shares], axis=1)
    places = np.concatenate([places for _, places in shares], axis=1)
    order = np.argsort(-scores, axis=1)[:, :width]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(places, order, 1)
