"""The exact kNN graph of two sets of vectors: one multiplication fills both directions.

The similarity matrix is walked in cells; cells merge into the graph, so what is finished can be saved and continued,
and the same cells are what the Beam grid distributes.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from mining.cell import SLACK, knn_cell
from mining.errors import InputError
from mining.files import atomic_writer
from mining.neighbours import Graph, Neighbours, merge
from mining.proposals import Blocks, Report
from mining.threads import core_count, thread_pool
from mining.vectors import Vectors

DEFAULT_MEMORY = 4 << 30
_CELL_WORK = 5e12  # multiply-adds in a cell: under a minute on two cores, the most that a crash costs
_MERGE_ROWS = 1 << 14
_WORKSPACE = 24 << 20  # what the matrix library and the allocator keep for themselves
CHECKPOINT_SECONDS = 20.0


class Plan(NamedTuple):
    """How the similarity matrix is cut up; the result does not depend on it."""

    source_panel: int
    target_panel: int
    blocks: Blocks

    def sizes(self) -> tuple[int, ...]:
        return self.source_panel, self.target_panel, *self.blocks


def knn_graph(
    source: Vectors,
    target: Vectors,
    k: int = 4,
    *,
    memory: int = DEFAULT_MEMORY,
    device: str = "cpu",
    threads: int | None = None,
    report: Report = lambda multiply_adds: None,
    checkpoint: Checkpoint | None = None,
) -> Graph:
    """Exact k nearest neighbours by cosine in both directions; ids are those of the vectors, ties go to the lowest.

    `memory` bounds what is held besides memory-mapped pages. `report` is told of multiply-adds as they are done.
    """
    require_fit(source, target, k)
    plan = plan_cells(len(source), len(target), source.dim, k, memory, threads or core_count())
    graph, finished = Graph(Neighbours.none(len(source), k), Neighbours.none(len(target), k)), 0
    saved = checkpoint.load() if checkpoint else None
    # The cells of a plan with larger panels would not fit a budget that was lowered, perhaps because memory ran out.
    if saved:
        source_panel, target_panel, blocks = saved.about
        earlier = Plan(source_panel, target_panel, Blocks(*blocks))
        if all(old <= new for old, new in zip(earlier.sizes(), plan.sizes(), strict=True)):
            graph, plan, finished = saved.graph, earlier, saved.finished
    with thread_pool(threads) as pool:
        for number, (rows, columns) in enumerate(_cells(len(source), len(target), plan)):
            if number < finished:
                report(float(rows.stop - rows.start) * (columns.stop - columns.start) * source.dim)
                continue
            part = knn_cell(
                source.rows(rows.start, rows.stop),
                target.rows(columns.start, columns.stop),
                k,
                pool=pool,
                blocks=plan.blocks,
                device=device,
                report=report,
            )
            _merge_into(graph.forward, rows, part.forward)
            _merge_into(graph.backward, columns, part.backward)
            if checkpoint:
                checkpoint.save_if_due(graph, plan, number + 1)
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


def plan_cells(rows: int, columns: int, dim: int, k: int, memory: int, threads: int) -> Plan:
    """Panels and blocks whose buffers fit the memory budget beside the graph itself."""
    width = k + SLACK
    # Neighbours (id, score), the row's id and inverse length, and a copy while a checkpoint is written.
    graph_bytes = (rows + columns) * (12 * k + 16)
    free = memory - graph_bytes - _WORKSPACE
    blocks = Blocks()
    while blocks.rows > 64 and _block_bytes(blocks, dim) > free // 3:
        blocks = Blocks(blocks.rows // 2, blocks.columns // 2)
    left = free - _block_bytes(blocks, dim)
    # A target row: its float32 vector (twice while it is scaled) and a candidate list for each thread and their join.
    column_bytes = 8 * dim + (threads + 2) * 8 * width * 2
    target_panel = int(left * 0.7 / column_bytes)
    # A source row: its candidate list, settled list, and the merge into the graph.
    source_panel = int(left * 0.3 / (8 * width * 2 + 40 * k))
    if target_panel < min(columns, blocks.columns) or source_panel < min(rows, blocks.rows):
        raise InputError(
            f"a memory budget of {memory / 1e6:,.0f} MB is too small for {rows:,} x {columns:,} vectors of dim {dim}: "
            f"the graph takes {graph_bytes / 1e6:,.0f} MB and workspaces {_WORKSPACE / 1e6:,.0f} MB; raise --memory"
        )
    target_panel = min(target_panel, columns, 1 << 16)
    source_panel = min(source_panel, rows, max(blocks.rows, int(_CELL_WORK / (max(target_panel, 1) * dim))))
    return Plan(max(source_panel, 1), max(target_panel, 1), blocks)


def _block_bytes(blocks: Blocks, dim: int) -> int:
    return 4 * blocks.rows * blocks.columns + 12 * blocks.rows * dim


def _cells(rows: int, columns: int, plan: Plan) -> Iterator[tuple[slice, slice]]:
    for left in range(0, columns, plan.target_panel):
        for top in range(0, rows, plan.source_panel):
            yield (
                slice(top, min(top + plan.source_panel, rows)),
                slice(left, min(left + plan.target_panel, columns)),
            )


def _merge_into(whole: Neighbours, rows: slice, part: Neighbours) -> None:
    """Merge a cell's neighbours into the graph, a few rows at a time to keep the copies small."""
    k = whole.ids.shape[1]
    for start in range(0, rows.stop - rows.start, _MERGE_ROWS):
        stop = min(start + _MERGE_ROWS, rows.stop - rows.start)
        place = slice(rows.start + start, rows.start + stop)
        mine = Neighbours(whole.ids[place], whole.scores[place])
        merged = merge([mine, Neighbours(part.ids[start:stop], part.scores[start:stop])], k)
        whole.ids[place], whole.scores[place] = merged


class Saved(NamedTuple):
    """An unfinished graph: how it was being made, and how much of that is done."""

    graph: Graph
    about: Any  # whatever of JSON was saved with it
    finished: int


class Checkpoint:
    """The unfinished graph in a file, saved every few seconds, so that a killed run goes on where it was."""

    def __init__(self, path: Path, source: Vectors, target: Vectors, k: int, how: str = "exact") -> None:
        self.path = path
        self._saved_at = time.monotonic()
        self._fingerprint = hashlib.blake2b(
            f"{fingerprint(source)} {fingerprint(target)} {k} {how}".encode(), digest_size=16
        ).hexdigest()

    def load(self) -> Saved | None:
        """What an earlier run of the same inputs left, or None."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as saved:
                about = json.loads(str(saved["about"]))
                if about["fingerprint"] != self._fingerprint:
                    return None
                graph = Graph(
                    Neighbours(saved["forward_ids"], saved["forward_scores"]),
                    Neighbours(saved["backward_ids"], saved["backward_scores"]),
                )
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):  # damaged, or not ours: start again
            return None
        return Saved(graph, about["about"], about["finished"])

    def save_if_due(self, graph: Graph, how: Any, finished: int) -> None:
        if time.monotonic() - self._saved_at < CHECKPOINT_SECONDS:
            return
        about = json.dumps({"fingerprint": self._fingerprint, "about": how, "finished": finished})
        with atomic_writer(str(self.path)) as stream:
            np.savez(
                stream,
                about=np.array(about),
                forward_ids=graph.forward.ids,
                forward_scores=graph.forward.scores,
                backward_ids=graph.backward.ids,
                backward_scores=graph.backward.scores,
            )
        self._saved_at = time.monotonic()


def fingerprint(vectors: Vectors) -> str:
    """Hash of every row's length and of some rows whole: other, changed, moved or missing vectors change it."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{vectors.stored.shape} {vectors.stored.dtype}".encode())
    digest.update(vectors.ids.tobytes())
    digest.update(vectors.inverse_norms.tobytes())
    sample = np.linspace(0, max(len(vectors) - 1, 0), min(len(vectors), 1000)).astype(np.int64)
    digest.update(vectors.stored[sample].tobytes())  # signs and order of dimensions, which lengths do not show
    return digest.hexdigest()


def choose_device(name: str) -> str:
    """The device of a choice: `auto` is `cuda` when torch sees a GPU and `cpu` otherwise; `cuda` must be there."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.split(":")[0] not in ("cpu", "cuda"):
        raise InputError(f"--device {name}: choose auto, cpu or cuda")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {name}: torch sees no GPU here; use --device auto or cpu")
    return name
