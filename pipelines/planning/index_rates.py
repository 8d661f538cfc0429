"""How fast a core of this machine builds and searches an index of FAISS, which an approximate search rests on.

A comparison with a centroid is part of a product of many rows; one with a row of a list that is searched is made for
one query after the other, of floats that no cache holds, and takes several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mining.approximate import GPU_PROBES, IndexPlan, IndexSearch, build_index, import_faiss, plan_index
from mining.knn import DEFAULT_MEMORY
from mining.neighbours import Neighbours
from mining.threads import thread_pool
from mining.vectors import from_array
from pipelines.planning.kernel_rates import jittered, processor_seconds

_ROWS = 65_536  # more than a cache holds; some ten seconds
_QUERIES = 1000
_ITERATIONS = 10  # of FAISS's training
# Of the lists, for 99% of the nearest, which `approximate_graph` goes on for: 98.3% of 33,000 rows a side and 99.3% of
# 100,000 were found by it in real vectors.
_SEARCHED = 1 / 2


class IndexRates(NamedTuple):
    """Comparisons that a core makes in a second."""

    products: float  # with centroids
    listed: float  # with the rows of lists


class IndexComparisons(NamedTuple):
    """Comparisons with centroids, and with the rows of the lists that are searched."""

    products: float
    listed: float


def index_comparisons(plan: IndexPlan, queries: float, rows: float, *, on_gpu: bool = False) -> IndexComparisons:
    """Of an index that is trained, filled, and searched once for each query."""
    products = (_ITERATIONS * plan.training_rows + rows + queries) * plan.lists
    share = min(_SEARCHED, GPU_PROBES / plan.lists) if on_gpu else _SEARCHED
    return IndexComparisons(products, share * queries * rows)


def measure_index(units: Sequence[np.ndarray], k: int) -> IndexRates:
    """By the steps of `approximate_graph`, on vectors near those of the sample."""
    faiss = import_faiss()
    queries, rows = (from_array(jittered(*given)) for given in zip(units, (_QUERIES, _ROWS), strict=True))
    plan = plan_index(len(queries), len(rows), rows.dim, k, DEFAULT_MEMORY)
    places, probes = np.arange(len(rows)), max(1, int(_SEARCHED * plan.lists))
    with thread_pool(None) as pool:
        faiss.omp_set_num_threads(pool.count)
        made = []
        built = processor_seconds(lambda: made.append(build_index(faiss, rows, places, plan, 0, on_gpu=False)))
        faiss.ParameterSpace().set_index_parameter(made[0], "nprobe", probes)
        search = IndexSearch(made[0], places, rows, plan, pool)
        search.fill(queries.rows(0, 64), Neighbours.none(64, k), probes)  # loads what is compiled
        searched = processor_seconds(lambda: search.fill(queries, Neighbours.none(len(queries), k), probes))
    products = index_comparisons(plan, 0, len(rows)).products
    return IndexRates(products / built, index_comparisons(plan, len(queries), len(rows)).listed / searched)
