"""The pace of an index is of its own steps: building and searching are counted and timed apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mining.approximate import IndexSearch, plan_index
from mining.knn import DEFAULT_MEMORY
from pipelines.planning import index_rates
from pipelines.planning.index_rates import index_comparisons, measure_index

ROWS, QUERIES, DIM = 3000, 100, 16


def test_building_and_searching_are_measured_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_rates, "_ROWS", ROWS)
    monkeypatch.setattr(index_rates, "_QUERIES", QUERIES)
    times = iter([4.0, 2.0])

    def timed(work: Callable[[], object]) -> float:
        work()
        return next(times)

    monkeypatch.setattr(index_rates, "processor_seconds", timed)
    searched: list[tuple[int, int]] = []
    fill = IndexSearch.fill

    def watched(self: IndexSearch, x: Any, found: Any, probes: int) -> None:
        searched.append((len(x), probes))
        fill(self, x, found, probes)
        assert (found.ids[: len(x)] >= 0).all(), "neighbours are found"

    monkeypatch.setattr(IndexSearch, "fill", watched)
    draw = np.random.default_rng(0)
    found = measure_index([draw.standard_normal((500, DIM), np.float32) for _ in range(2)], 4)
    lists = plan_index(QUERIES, ROWS, DIM, 4, DEFAULT_MEMORY).lists
    assert found.products == pytest.approx(11 * ROWS * lists / 4), "ten passes of training, and one to fill it"
    assert found.listed == pytest.approx(QUERIES * ROWS / 2 / 2)
    assert searched[-1] == (QUERIES, lists // 2), "half of the lists"


def test_comparisons_with_lists_grow_as_the_product_of_the_sides() -> None:
    plan = plan_index(10**6, 10**6, 256, 4, DEFAULT_MEMORY)
    some, more = (index_comparisons(plan, size, 10**6) for size in (10**6, 10**7))
    assert (some.listed, more.listed) == (5e11, 5e12)
    assert more.products - some.products == 9e6 * plan.lists
    on_gpu = index_comparisons(plan_index(10**8, 10**8, 256, 4, 64 << 30), 1e8, 1e8, on_gpu=True)
    assert on_gpu.listed == 1e16 * 2048 / 40_000, "FAISS probes no more there"
