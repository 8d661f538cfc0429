"""The exact kNN graph of two sets of vectors: one multiplication fills both directions.

The similarity matrix is walked in cells that fit a memory budget, and cells merge into the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mining.cell import SLACK, knn_cell
from mining.errors import InputError
from mining.neighbours import KnnGraph, Neighbours, merge
from mining.proposals import Blocks
from mining.threads import core_count, thread_pool
from mining.vectors import Vectors

DEFAULT_MEMORY = 4 << 30
_CELL_WORK = 5e12  # multiply-adds in a cell: under a minute on two cores, the most that a crash costs
_MERGE_ROWS = 1 << 14
_WORKSPACE = 24 << 20  # what the matrix library and the allocator keep for themselves


class CellPlan(NamedTuple):
    """How the similarity matrix is cut up; the result does not depend on it."""

    source_panel: int
    target_panel: int
    blocks: Blocks


def knn_graph(
    source: Vectors,
    target: Vectors,
    k: int = 4,
    *,
    memory: int = DEFAULT_MEMORY,
    device: str = "cpu",
    threads: int | None = None,
) -> KnnGraph:
    """Exact k nearest neighbours by cosine in both directions; ids are those of the vectors, ties go to the lowest.

    `memory` bounds what is held besides memory-mapped pages.
    """
    require_fit(source, target, k)
    plan = plan_cells(len(source), len(target), source.dim, k, memory, threads or core_count())
    graph = KnnGraph(Neighbours.none(len(source), k), Neighbours.none(len(target), k))
    with thread_pool(threads) as pool:
        for rows, columns in _cells(len(source), len(target), plan):
            sides = source.rows(rows.start, rows.stop), target.rows(columns.start, columns.stop)
            part = knn_cell(*sides, k, pool=pool, blocks=plan.blocks, device=device)
            if (len(sides[0]), len(sides[1])) == (len(source), len(target)):
                return part  # the only cell: there is nothing to merge it with
            merge_into(graph.forward, rows, part.forward)
            merge_into(graph.backward, columns, part.backward)
    return graph


def require_fit(source: Vectors, target: Vectors, k: int) -> None:
    """Refuse vectors that cannot be compared."""
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if source.dim != target.dim:
        raise InputError(f"{source.name} has dim {source.dim}, but {target.name} has dim {target.dim}")
    encoders = source.metadata.get("encoder"), target.metadata.get("encoder")
    if all(encoders) and encoders[0] != encoders[1]:
        raise InputError(f"{source.name} is from encoder {encoders[0]}, but {target.name} from {encoders[1]}")


def plan_cells(rows: int, columns: int, dim: int, k: int, memory: int, threads: int) -> CellPlan:
    """Panels and blocks whose buffers fit the memory budget beside the graph itself."""
    plan = _plan(rows, columns, dim, k, memory, threads)
    if plan is not None:
        return plan
    needed = memory
    while _plan(rows, columns, dim, k, needed, threads) is None:
        needed += max(needed // 16, 1 << 20)
    raise InputError(
        f"a memory budget of {memory / 1e6:,.0f} MB is too small for the neighbours of {rows:,} x {columns:,} vectors "
        f"of dim {dim}; raise --memory to {-(-needed >> 20)}MiB",
        code="T08",
    )


def _plan(rows: int, columns: int, dim: int, k: int, memory: int, threads: int) -> CellPlan | None:
    width = k + SLACK
    # Neighbours (id, score), the row's id and inverse length.
    graph_bytes = (rows + columns) * (12 * k + 16)
    free = memory - graph_bytes - _WORKSPACE
    blocks = Blocks()
    while blocks.rows > 64 and _block_bytes(blocks, dim) > free // 3:
        blocks = Blocks(blocks.rows // 2, blocks.columns // 2)
    left = free - _block_bytes(blocks, dim)
    # A target row: its float32 vector (twice while it is scaled) and a candidate list for each thread and their join.
    column_bytes = 8 * dim + (threads + 2) * 8 * width * 2
    target_panel = int(left * 0.7 / column_bytes)
    # A source row: its candidate list, rescored list, and the merge into the graph.
    source_panel = int(left * 0.3 / (8 * width * 2 + 40 * k))
    if target_panel < min(columns, blocks.columns) or source_panel < min(rows, blocks.rows):
        return None
    target_panel = min(target_panel, columns, 1 << 16)
    source_panel = min(source_panel, rows, max(blocks.rows, int(_CELL_WORK / (max(target_panel, 1) * dim))))
    return CellPlan(max(source_panel, 1), max(target_panel, 1), blocks)


def _block_bytes(blocks: Blocks, dim: int) -> int:
    return 4 * blocks.rows * blocks.columns + 12 * blocks.rows * dim


def _cells(rows: int, columns: int, plan: CellPlan) -> Iterator[tuple[slice, slice]]:
    for left in range(0, columns, plan.target_panel):
        for top in range(0, rows, plan.source_panel):
            yield (
                slice(top, min(top + plan.source_panel, rows)),
                slice(left, min(left + plan.target_panel, columns)),
            )


def merge_into(whole: Neighbours, rows: slice, part: Neighbours) -> None:
    """Merge a cell's neighbours into the graph, a few rows at a time to keep the copies small."""
    k = whole.ids.shape[1]
    for start in range(0, rows.stop - rows.start, _MERGE_ROWS):
        stop = min(start + _MERGE_ROWS, rows.stop - rows.start)
        place = slice(rows.start + start, rows.start + stop)
        mine = Neighbours(whole.ids[place], whole.scores[place])
        merged = merge([mine, Neighbours(part.ids[start:stop], part.scores[start:stop])], k)
        whole.ids[place], whole.scores[place] = merged


def choose_device(name: str, *, little: bool = False) -> str:
    """The device of a choice: `auto` is `cuda` when torch sees a GPU, but for `little` work, and `cpu` otherwise."""
    if name.split(":")[0] not in ("auto", "cpu", "cuda"):
        raise InputError(f"--device {name}: choose auto, cpu or cuda")
    if name == "cpu" or (name == "auto" and little):
        return "cpu"
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not torch.cuda.is_available():
        raise InputError(f"--device {name}: torch sees no GPU here; use --device auto or cpu")
    return name
