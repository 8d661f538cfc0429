"""Candidate neighbours with torch's own top-k, for a GPU: what `mining.proposals` does on the CPU."""

from __future__ import annotations

import warnings

import numpy as np
import torch

from mining.proposals import Blocks, Proposals, empty_lists
from mining.top_k import MISSING
from mining.vectors import Vectors


def propose_torch(source: Vectors, target: Vectors, width: int, blocks: Blocks, device: str) -> Proposals:
    """Candidates of a cell, all of it on the device."""
    row_lists: list[tuple[torch.Tensor, torch.Tensor]] = []
    columns = _unit_rows(target, 0, len(target), device)
    below = torch.full((0, len(target)), -torch.inf, device=device)
    below_places = torch.empty((0, len(target)), dtype=torch.int64, device=device)
    for top in range(0, len(source), blocks.rows):
        rows = _unit_rows(source, top, top + blocks.rows, device)
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
    full_scores, full_places = empty_lists(len(scores), width)
    full_scores[:, : scores.shape[1]] = scores.cpu().numpy()
    full_places[:, : places.shape[1]] = places.cpu().numpy()
    full_places[np.isneginf(full_scores)] = MISSING
    return full_scores, full_places


def _unit_rows(vectors: Vectors, start: int, stop: int, device: str) -> torch.Tensor:
    """Rows `start` to `stop` as unit float32 vectors on the device."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        stored = torch.from_numpy(np.asarray(vectors.stored[start:stop]))
    inverse = torch.from_numpy(vectors.inverse_norms[start:stop].astype(np.float32)).to(device)
    return stored.to(device, torch.float32) * inverse[:, None]
