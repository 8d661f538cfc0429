"""What a memory budget means to the stages of a mine: how much each may take, and what cannot be done with it."""

from __future__ import annotations

from typing import NamedTuple

from mining.errors import InputError
from pipelines.datasets.manifest import Dataset

_EDGE_BYTES = 200  # of greedy matching: measured at 20 million edges, and twice that for safety
_PAIR_BYTES = 75  # of a matched pair when all are sorted: itself, its place and a copy
_NEIGHBOUR_BYTES = 2 * (8 + 4)  # id and score, in a cell and in the list that it is merged into
_WORKSPACE = 32 << 20  # blocks of similarities


class MemoryShares(NamedTuple):
    """What stages that can work in pieces take at once."""

    duplicates_mb: int  # of finding duplicates, in each worker
    edges: int  # that are matched by one worker; more are matched in rounds


def memory_shares(budget: int) -> MemoryShares:
    return MemoryShares(max(budget // 8 >> 20, 1), budget // _EDGE_BYTES)


def require_memory(budget: int, k: int, dim: int, source: Dataset, target: Dataset) -> None:
    """Refuse a mine that needs more than the budget, with what it needs."""
    rows = [max((shard.rows for shard in side.shards), default=0) for side in (source, target)]
    cell = sum(rows) * (4 * dim + k * _NEIGHBOUR_BYTES) + _WORKSPACE
    if cell > budget:
        raise InputError(
            f"--memory {_mb(budget)}: the neighbours of two shards of {rows[0]:,} and {rows[1]:,} sentences take "
            f"{_mb(cell)}; give that much, or smaller shards (--rows-per-shard) in a new work folder"
        )
    pairs = min(source.rows, target.rows) * _PAIR_BYTES
    if pairs > budget:
        raise InputError(
            f"--memory {_mb(budget)}: sorting the pairs of {source.rows:,} and {target.rows:,} sentences takes up to "
            f"{_mb(pairs)}; give that much"
        )


def _mb(size: int) -> str:
    return f"{-(-size // (1 << 20)):,}MiB".replace(",", "")
