"""Approximate kNN through FAISS for corpora too large for the exact pass, with exact scores and a measured recall.

FAISS only proposes candidates; they are re-ranked by the cosine of the stored vectors, and the share of true neighbours
that were found is measured on a sample of both sides.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mining.cell import rerank
from mining.errors import InputError
from mining.knn import DEFAULT_MEMORY, knn_graph, require_fit
from mining.neighbours import KnnGraph, Neighbours, merge
from mining.proposals import unit_rows
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
_TRUTH_ROWS = 1 << 16
_ROWS_A_LIST = 39  # with fewer to train on, FAISS warns
_PQ_TRAINING_ROWS = 1 << 16  # FAISS takes no more
_LEAST_TRAINING_ROWS = 1024
_INDEX_SHARE = 0.75  # of what is free; the rest is for a batch of queries
_WORKSPACE = 24 << 20  # what FAISS, the matrix library and the allocator keep for themselves
GPU_PROBES = 2048  # FAISS takes no more there


class Direction(NamedTuple):
    """How the neighbours of one side were found."""

    recall: float  # share of the true k nearest that were found, on a sample
    index_kind: str  # FAISS's name of what was built
    probes: int
    sample: tuple[Neighbours, Neighbours]  # of some rows, what was found and the truth


class Approximation(NamedTuple):
    """A graph with what is known of its quality."""

    graph: KnnGraph
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
    device: str = "auto",
    threads: int | None = None,
    seed: int = 0,
) -> Approximation:
    """Both directions through an index of each side, re-ranked exactly; recall is measured, not assumed.

    The indexes are on the GPUs that FAISS sees, if there are any, unless `device` is `cpu`.
    """
    require_fit(source, target, k)
    faiss = import_faiss()
    on_gpu = _on_gpu(faiss, device)
    graph = KnnGraph(Neighbours.none(len(source), k), Neighbours.none(len(target), k))
    with thread_pool(threads) as pool:
        faiss.omp_set_num_threads(pool.count)
        sides = (source, target, graph.forward), (target, source, graph.backward)
        made = [_fill(faiss, x, y, found, memory, seed, pool, on_gpu) for x, y, found in sides]
    return Approximation(graph, *made)


def _on_gpu(faiss: ModuleType, device: str) -> bool:
    if device == "cpu":
        return False
    if faiss.get_num_gpus():
        return True
    if device != "auto":
        raise InputError(f"--device {device}: FAISS sees no GPU here; use auto or cpu, or pip install 'twinlode[gpu]'")
    return False


class IndexPlan(NamedTuple):
    """What FAISS builds and how many rows at a time go through it, so that all stays within the memory budget."""

    kind: str  # FAISS's factory string
    lists: int
    training_rows: int
    search_bytes: int  # for one batch of queries

    def batch(self, dim: int, candidates: int, probes: int, half: bool) -> int:
        """Queries of one batch: their vectors, probed lists and candidates, float32 copies of half floats included."""
        query_bytes = 12 * dim + 24 * candidates + 12 * probes + (6 * dim * candidates if half else 0)
        return max(1, min(_BATCH, self.search_bytes // query_bytes))


def plan_index(queries: int, rows: int, dim: int, k: int, memory: int) -> IndexPlan:
    """Flat lists while twice the vectors fit in three quarters of what the graph leaves, product-quantised ones beyond.

    Twice, because lists double when they grow; the other quarter is for a batch of queries. While FAISS trains, the
    index is empty, so the three quarters are for its sample: where they hold too few rows, there are fewer lists.
    """
    free = memory - _held_bytes(queries, rows, k)
    kind = next((name for name, size in _encodings(rows, dim) if 2 * size <= _INDEX_SHARE * free), None)
    if kind is None:
        raise InputError(_too_small(queries, rows, dim, k, memory))
    affordable = int(_INDEX_SHARE * free / (4 * dim))
    if kind != "Flat":  # is trained on residuals, of which there are two copies
        affordable = max(affordable // 3, affordable - 2 * _PQ_TRAINING_ROWS)
    lists = max(1, min(rows // _ROWS_A_LIST, round(4 * math.sqrt(rows)), affordable // (_ROWS_A_LIST + 2)))
    affordable -= 2 * lists
    if affordable < min(rows, _LEAST_TRAINING_ROWS):
        raise InputError(_too_small(queries, rows, dim, k, memory))
    training_rows = min(rows, max(256 * _ROWS_A_LIST, 64 * lists), affordable)
    return IndexPlan(f"IVF{lists},{kind}", lists, training_rows, free // 4)


def _held_bytes(queries: int, rows: int, k: int) -> int:
    """The graph with the ids and lengths of its rows, and which rows take part; what libraries keep for themselves."""
    return (queries + rows) * (12 * k + 24) + _WORKSPACE


def _encodings(rows: int, dim: int) -> list[tuple[str, int]]:
    """Ways to keep the vectors in an index, with the bytes they take, finest first."""
    quantised = [(f"PQ{pieces}", rows * (pieces + 8)) for pieces in (64, 32, 16, 8) if dim % pieces == 0]
    return [("Flat", rows * (4 * dim + 8)), *quantised]


def _too_small(queries: int, rows: int, dim: int, k: int, memory: int) -> str:
    smallest = _encodings(rows, dim)[-1][1]
    training = 3 * (min(rows, _LEAST_TRAINING_ROWS) + _LEAST_TRAINING_ROWS // 8) * 4 * dim
    needed = _held_bytes(queries, rows, k) + math.ceil(max(2 * smallest, training) / _INDEX_SHARE)
    advice = "" if dim % 8 == 0 else f", of which a multiple of 8 as dim (not {dim}) would need less"
    return (
        f"a memory budget of {memory / 1e6:,.0f} MB is too small for an approximate search of {queries:,} x {rows:,} "
        f"vectors: it needs {needed / 1e6:,.0f} MB{advice}; raise --memory"
    )


def _fill(
    faiss: ModuleType,
    x: Vectors,
    y: Vectors,
    found: Neighbours,
    memory: int,
    seed: int,
    pool: Threads,
    on_gpu: bool,
) -> Direction:
    """Find the neighbours of x among y."""
    if not len(x) or not len(y):
        nothing = Neighbours.none(0, found.ids.shape[1])
        return Direction(1.0, "none", 0, (nothing, nothing))
    k = found.ids.shape[1]
    rows = np.flatnonzero(~np.isnan(y.inverse_norms))
    plan = plan_index(len(x), len(y), y.dim, k, memory)
    chosen = _draw(np.flatnonzero(~np.isnan(x.inverse_norms)), _SAMPLE, seed)
    sample = from_array(x.stored[chosen].astype(np.float32), x.name)
    truth = _nearest(sample, y, k, 4 * plan.search_bytes + _WORKSPACE, pool)  # before there is an index
    index = build_index(faiss, y, rows, plan, seed, on_gpu)
    efforts = faiss.GpuParameterSpace() if on_gpu else faiss.ParameterSpace()  # also of one index on each of many GPUs
    search = IndexSearch(index, rows, y, plan, pool)
    most = min(plan.lists / 2, GPU_PROBES if on_gpu else plan.lists)
    recall, probes = 0.0, max(1, plan.lists // 256)
    while True:
        efforts.set_index_parameter(index, "nprobe", probes)
        tried = Neighbours.none(len(sample), k)
        search.fill(sample, tried, probes)
        recall = _recall(truth, tried)
        if recall >= _WANTED_RECALL or probes >= most:
            break
        probes = min(2 * probes, GPU_PROBES) if on_gpu else 2 * probes
    search.fill(x, found, probes)
    return Direction(recall, plan.kind, probes, (tried, truth))


def _draw(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """At most this many of the rows, in their order."""
    places = np.random.default_rng(seed).choice(len(rows), min(most, len(rows)), replace=False, shuffle=False)
    return rows[np.sort(places)]


def _nearest(sample: Vectors, y: Vectors, k: int, memory: int, pool: Threads) -> Neighbours:
    """The exact neighbours of a few rows, a part of the other side at a time: its own neighbours are not wanted."""
    best = Neighbours.none(len(sample), k)
    for start in range(0, len(y), _TRUTH_ROWS):
        part = y.rows(start, min(start + _TRUTH_ROWS, len(y)))
        best = merge([best, knn_graph(sample, part, k, memory=memory, threads=pool.count).forward], k)
    return best


def build_index(faiss: ModuleType, y: Vectors, rows: np.ndarray, plan: IndexPlan, seed: int, on_gpu: bool) -> Any:
    """Train on a sample and add all rows, a batch at a time."""
    index = faiss.index_factory(y.dim, plan.kind, faiss.METRIC_INNER_PRODUCT)
    if "PQ" in plan.kind:
        index.do_polysemous_training = False  # on by default, takes minutes, and helps only Hamming distances
    if on_gpu:
        options = faiss.GpuMultipleClonerOptions()
        options.useFloat16 = "PQ" in plan.kind  # look-up tables of 64 pieces have no room there otherwise
        index = faiss.index_cpu_to_all_gpus(index, options)
    batch = plan.batch(y.dim, 0, 0, half=False)
    chosen = _draw(rows, plan.training_rows, seed)
    sample = np.empty((len(chosen), y.dim), np.float32)
    for first in range(0, len(chosen), batch):
        sample[first : first + batch] = y.unit(chosen[first : first + batch])
    index.train(sample)
    del sample
    for first in range(0, len(rows), batch):
        index.add(y.unit(rows[first : first + batch]))
    return index


class IndexSearch(NamedTuple):
    """An index of the rows of y that take part."""

    index: Any
    rows: np.ndarray
    y: Vectors
    plan: IndexPlan
    pool: Threads

    def fill(self, x: Vectors, found: Neighbours, probes: int) -> None:
        """Candidates from the index, re-ranked by canonical score."""
        k = found.ids.shape[1]
        wanted = max(_CANDIDATES, 4 * k)
        batch = self.plan.batch(x.dim, wanted, probes, self.y.stored.dtype == np.float16)
        for start in range(0, len(x), batch):
            part = x.rows(start, min(start + batch, len(x)))
            queries = unit_rows(part, 0, len(part))
            scores, places = self.index.search(np.nan_to_num(queries, copy=False), wanted)
            places = np.where(places < 0, MISSING, self.rows[places]).astype(np.int32)
            places[np.isnan(part.inverse_norms)] = MISSING
            scores[places == MISSING] = -np.inf
            best, _ = rerank(part, self.y, scores, places, k, self.pool, bound=0.0)
            found.ids[start : start + batch], found.scores[start : start + batch] = best


def _recall(truth: Neighbours, found: Neighbours) -> float:
    exists = truth.ids != MISSING
    hits = (truth.ids[:, :, None] == found.ids[:, None, :]).any(2) & exists
    return float(hits.sum() / max(1, exists.sum()))
