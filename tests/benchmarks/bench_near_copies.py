"""Cells of sentences that are nearly the same, as numbered boilerplate is, against cells of different ones.

`ROWS=60000 python -m tests.benchmarks near_copies`; needs ../shared/data/train. Vectors of English and other sentences
by the default encoder, or of fewer of them with copies that differ by a random vector of some length; one thread.
"""

from __future__ import annotations

import os
import time

import numpy as np

from mining.codebook import cell_count, train_codebook
from mining.partitioned import key_graph
from mining.row_cells import COPIES, cells_of_sides
from mining.threads import Threads, thread_pool
from mining.vectors import Vectors, from_array
from tests.benchmarks.bench_partitioned import K, embedded_text
from tests.benchmarks.real_pairs import DATA

ROWS = int(os.environ.get("ROWS", "60000"))
CASES = [(1, 0.0), (10, 0.3), (10, 0.05), (10, 0.0), (100, 0.1), (100, 0.01), (100, 0.0)]


def main() -> None:
    if not DATA.exists():
        print(f"## near copies: skipped, {DATA} is not here")
        return
    sides = embedded_text(ROWS).paired
    print(f"## near copies: {ROWS:,} rows a side, k {K}, one thread")
    print("copies of each sentence | their distance | comparisons | CPU s | comparisons a CPU s")
    with thread_pool(1) as pool:
        compared([from_array(side[:2000]) for side in sides], pool)  # compiles
        for copies, apart in CASES:
            comparisons, seconds = compared([copied(side, copies, apart) for side in sides], pool)
            rate = comparisons / seconds
            print(f"{copies} | {apart} | {comparisons:,} | {seconds:.1f} | {rate:.2e}", flush=True)


def copied(side: np.ndarray, copies: int, apart: float) -> Vectors:
    rows = np.repeat(side[: len(side) // copies], copies, axis=0)
    moved = np.random.default_rng(0).standard_normal(rows.shape, np.float32) / np.sqrt(rows.shape[1])
    return from_array((rows + apart * moved).astype(np.float32))


def compared(sides: list[Vectors], pool: Threads) -> tuple[int, float]:
    """Comparisons inside of cells, and what they took."""
    units = [side.unit(np.arange(len(side))) for side in sides]
    codebook = train_codebook(np.concatenate(units)[::2], cell_count(len(sides[0]), len(sides[1])), pool)
    cells = cells_of_sides(codebook, units, COPIES, pool)
    begun = time.process_time()
    found = key_graph(sides[0], sides[1], cells[0], cells[1], K, pool)
    return found.comparisons, time.process_time() - begun
