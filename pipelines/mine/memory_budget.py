"""What a memory budget means to the stages of a mine: how much each may take, and what cannot be done with it."""

from __future__ import annotations

from typing import NamedTuple

from mining.errors import InputError
from mining.knn import plan_cells
from mining.threads import core_count
from pipelines.datasets.manifest import Dataset

EDGE_BYTES = 200  # of sorting a band of edges: measured at 20 million, and twice that for safety
SCORE_BYTES = 75  # of each different score when a threshold is chosen
MOST_SCORES = 1 << 24  # float32 numbers from 0.5 to 2


class MemoryShares(NamedTuple):
    """What stages that can work in pieces take at once."""

    duplicates_mb: int  # of finding duplicates, in each worker
    edges: int  # that are sorted at once
    text: int  # bytes of the texts of pairs


def memory_shares(budget: int) -> MemoryShares:
    return MemoryShares(max(budget // 8 >> 20, 1), budget // EDGE_BYTES, budget // 4)


def require_memory(budget: int, k: int, dim: int, source: Dataset, target: Dataset, threads: int | None = None) -> None:
    """Refuse a mine that needs more than the budget, with what it needs."""
    left, right = (max((shard.rows for shard in side.shards), default=0) for side in (source, target))
    plan_cells(left, right, dim, k, budget, threads or core_count())
    require_pair_memory(budget, source.rows, target.rows)


def require_pair_memory(budget: int, source: int, target: int) -> None:
    """Refuse to choose the threshold of more pairs of this many sentences than fit."""
    needed = min(source, target, MOST_SCORES) * SCORE_BYTES
    if needed > budget:
        raise InputError(
            f"--memory {_mb(budget)}: the scores of the pairs of {source:,} and {target:,} sentences take up to "
            f"{_mb(needed)}; give that much"
        )


def _mb(size: int) -> str:
    return f"{-(-size // (1 << 20)):,}MiB".replace(",", "")
