"""What a memory budget means to the stages of a mine: how much each may take, and what cannot be done with it."""

from __future__ import annotations

from typing import NamedTuple

from mining.errors import InputError
from mining.knn import plan_cells
from mining.threads import core_count
from pipelines.datasets.manifest import Dataset

_EDGE_BYTES = 200  # of greedy matching: measured at 20 million edges, and twice that for safety
_PAIR_BYTES = 75  # of a matched pair when all are sorted: itself, its place and a copy


class MemoryShares(NamedTuple):
    """What stages that can work in pieces take at once."""

    duplicates_mb: int  # of finding duplicates, in each worker
    edges: int  # that are matched by one worker; more are matched in rounds
    text: int  # bytes of the texts of pairs


def memory_shares(budget: int) -> MemoryShares:
    return MemoryShares(max(budget // 8 >> 20, 1), budget // _EDGE_BYTES, budget // 4)


def require_memory(budget: int, k: int, dim: int, source: Dataset, target: Dataset, threads: int | None = None) -> None:
    """Refuse a mine that needs more than the budget, with what it needs."""
    left, right = (max((shard.rows for shard in side.shards), default=0) for side in (source, target))
    plan_cells(left, right, dim, k, budget, threads or core_count())
    require_pair_memory(budget, source.rows, target.rows)


def require_pair_memory(budget: int, source: int, target: int) -> None:
    """Refuse to sort more pairs of so many sentences than fit."""
    pairs = min(source, target) * _PAIR_BYTES
    if pairs > budget:
        raise InputError(
            f"--memory {_mb(budget)}: sorting the pairs of {source:,} and {target:,} sentences takes up to "
            f"{_mb(pairs)}; give that much"
        )


def _mb(size: int) -> str:
    return f"{-(-size // (1 << 20)):,}MiB".replace(",", "")
