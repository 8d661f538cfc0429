"""Approximate kNN through FAISS for corpora too large for the exact pass, with exact scores and a measured recall.

FAISS only proposes candidates; they are re-ranked by the cosine of the stored vectors, and the share of true neighbours
that were found is measured on a sample of both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mining.cell import rerank
from mining.errors import InputError
from mining.knn import DEFAULT_MEMORY, Checkpoint, knn_graph, require_fit
from mining.neighbours import Graph, Neighbours
from mining.proposals import Report, unit_rows
from mining.threads import Threads, thread_pool
from mining.top_k import MISSING
from mining.vectors import Vectors, from_array

# Up to this many similarities (a million sentences by a million) the default is exact: hours on two cores at dim 1024,
# minutes on a GPU.
EXACT_LIMIT = 10**12
_CANDIDATES = 32  # proposals that are re-ranked for each row, at least 4 k
_SAMPLE = 1000  # rows of each side on which recall is measured
_WANTED_RECALL = 0.99  # cells are probed until the sample reaches this, or half of them are
_BATCH = 8192
_LEAST_MEMORY = 64 << 20  # for the exact neighbours of the sample


class Direction(NamedTuple):
    """How the neighbours of one side were found."""

    recall: float  # share of the true k nearest that were found, on a sample
    index_kind: str  # FAISS's name of what was built
    probes: int


class Approximation(NamedTuple):
    """A graph with what is known of its quality."""

    graph: Graph
    forward: Direction
    backward: Direction


def import_faiss() -> ModuleType:
    """FAISS, from whichever of its two distributions is installed."""
    try:
        import faiss
    except ImportError:
        raise InputError(
            "approximate search needs FAISS: pip install 'twinlode[cpu]', or 'twinlode[gpu]' on a machine with a GPU"
        ) from None
    return faiss


def approximate_graph(
    source: Vectors,
    target: Vectors,
    k: int = 4,
    *,
    memory: int = DEFAULT_MEMORY,
    threads: int | None = None,
    seed: int = 0,
    report: Report = lambda multiply_adds: None,
    checkpoint: Checkpoint | None = None,
) -> Approximation:
    """Both directions through an index of each side, re-ranked exactly; recall is measured, not assumed.

    A run that continues builds the index of the direction it was in again, and searches what is missing.
    """
    require_fit(source, target, k)
    faiss = import_faiss()
    graph = Graph(Neighbours.none(len(source), k), Neighbours.none(len(target), k))
    made: list[Direction] = []
    finished = 0  # rows of the direction that is next
    saved = checkpoint.load() if checkpoint else None
    if saved:
        graph, made, finished = saved.graph, [Direction(*about) for about in saved.about], saved.finished
    with thread_pool(threads) as pool:
        faiss.omp_set_num_threads(pool.count)
        sides = (source, target, graph.forward), (target, source, graph.backward)
        for x, y, found in sides[len(made) :]:

            def advance(rows: int, work: float) -> None:
                report(work)
                if checkpoint:
                    checkpoint.save_if_due(graph, made, rows)

            made.append(_fill(faiss, x, y, found, memory, seed, pool, finished, advance))
            finished = 0
    return Approximation(graph, *made)


def index_kind(rows: int, dim: int, memory: int) -> str:
    """FAISS factory string: flat lists while the vectors fit in half the memory, product-quantised beyond."""
    lists = max(1, min(rows // 39, round(4 * math.sqrt(rows)))) if rows else 1
    if rows * dim * 4 <= memory / 2:
        return f"IVF{lists},Flat"
    for pieces in (64, 32, 16, 8):
        if rows * (pieces + 8) <= memory / 2 and dim % pieces == 0:
            return f"IVF{lists},PQ{pieces}"
    if dim % 8:
        raise InputError(f"vectors of dim {dim} cannot be product-quantised (8 must divide it); raise --memory")
    raise InputError(f"a memory budget of {memory / 1e6:,.0f} MB is too small for an index of {rows:,} vectors")


def _fill(
    faiss: ModuleType,
    x: Vectors,
    y: Vectors,
    found: Neighbours,
    memory: int,
    seed: int,
    pool: Threads,
    first: int,
    advance: Callable[[int, float], None],
) -> Direction:
    """Find the neighbours of x among y, from row `first` of x on."""
    if not len(x) or not len(y):
        return Direction(1.0, "none", 0)
    k = found.ids.shape[1]
    rows = np.flatnonzero(~np.isnan(y.inverse_norms))
    name = index_kind(len(rows), y.dim, memory)
    index = _build(faiss, y, rows, name, seed)
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(x.inverse_norms)))[:_SAMPLE]
    sample = from_array(x.stored[np.sort(chosen)].astype(np.float32), x.name)
    truth = knn_graph(sample, y, k, memory=max(memory, _LEAST_MEMORY), threads=pool.count).forward
    recall, probes = 0.0, max(1, index.nlist // 256)
    while True:
        index.nprobe = probes
        tried = Neighbours.none(len(sample), k)
        _search(index, rows, sample, y, tried, pool)
        recall = _recall(truth, tried)
        if recall >= _WANTED_RECALL or probes >= index.nlist / 2:
            break
        probes *= 2
    _search(index, rows, x, y, found, pool, first, advance)
    return Direction(recall, name, probes)


def _build(faiss: ModuleType, y: Vectors, rows: np.ndarray, name: str, seed: int):  # type: ignore[no-untyped-def]
    """Train on a sample and add all rows, a batch at a time; on the GPU when FAISS sees one."""
    index = faiss.index_factory(y.dim, name, faiss.METRIC_INNER_PRODUCT)
    if "PQ" in name:
        index.do_polysemous_training = False  # on by default, takes minutes, and helps only Hamming distances
    if faiss.get_num_gpus():
        index = faiss.index_cpu_to_all_gpus(index)
    sample = np.random.default_rng(seed).permutation(rows)[: max(256 * 39, 64 * index.nlist)]
    index.train(_unit(y, np.sort(sample)))
    for first in range(0, len(rows), _BATCH):
        index.add(_unit(y, rows[first : first + _BATCH]))
    return index


def _unit(vectors: Vectors, rows: np.ndarray) -> np.ndarray:
    return vectors.stored[rows].astype(np.float32) * vectors.inverse_norms[rows, None].astype(np.float32)


def _search(  # type: ignore[no-untyped-def]
    index,
    rows: np.ndarray,
    x: Vectors,
    y: Vectors,
    found: Neighbours,
    pool: Threads,
    first: int = 0,
    advance: Callable[[int, float], None] = lambda rows, work: None,
) -> None:
    """Candidates from the index, re-ranked by canonical score; `advance` hears how many rows are finished."""
    k = found.ids.shape[1]
    for start in range(first, len(x), _BATCH):
        part = x.rows(start, min(start + _BATCH, len(x)))
        queries = unit_rows(part, 0, len(part)).numpy()
        scores, places = index.search(np.nan_to_num(queries), max(_CANDIDATES, 4 * k))
        places = np.where(places < 0, MISSING, rows[places]).astype(np.int32)
        places[np.isnan(part.inverse_norms)] = MISSING
        scores[places == MISSING] = -np.inf
        best, _ = rerank(part, y, scores, places, k, pool, bound=0.0)
        found.ids[start : start + _BATCH], found.scores[start : start + _BATCH] = best
        advance(start + len(part), float(len(part)) * len(y) * x.dim / 2)  # the other direction is the other half


def _recall(truth: Neighbours, found: Neighbours) -> float:
    exists = truth.ids != MISSING
    hits = (truth.ids[:, :, None] == found.ids[:, None, :]).any(2) & exists
    return float(hits.sum() / max(1, exists.sum()))
