"""Mining against the LASER procedure on the same vectors, and against what the machine can multiply."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import faiss
import numpy as np
import torch

from encoder.matrix_products import fast_products
from mining.knn import knn_graph
from mining.retrieval import Retrieval, retrieve
from mining.threads import core_count
from mining.vectors import from_array, open_vectors

T = TypeVar("T")
ROWS, COLUMNS, DIM, K = 10_000, 60_000, 1024, 4


def main() -> None:
    x, y = parallel_vectors(ROWS, COLUMNS)
    mine(x[:600], y[:800])  # compiles the kernels
    faiss.omp_set_num_threads(core_count())
    sgemm = sgemm_rate()
    laser_seconds, laser = timed(lambda: laser_pairs(x, y))
    our_seconds, ours = timed(lambda: mine(x, y))
    rate = 2e-9 * ROWS * COLUMNS * DIM / our_seconds
    sgemm = (sgemm + sgemm_rate()) / 2  # before and after, as the machine may be shared
    print(f"## mining {ROWS:,} x {COLUMNS:,} x {DIM} float32, k {K}, ratio, max, {core_count()} cores")
    print(f"LASER procedure (two IndexFlatIP searches, its scoring and matching)  {laser_seconds:8.1f} s")
    print(f"twinlode, end to end                                                  {our_seconds:8.1f} s")
    print(f"ratio                                                                 {laser_seconds / our_seconds:8.1f} x")
    print(
        f"same pairs                                                            {len(laser & ours) / len(laser):8.2%}"
    )
    print(f"twinlode {rate:.0f} GFLOP/s of the machine's sgemm {sgemm:.0f} GFLOP/s: {rate / sgemm:.0%}")
    growth()
    budget()


def growth() -> None:
    """Twice the rows on each side are four times the work."""
    x, y = parallel_vectors(12_000, 30_000)
    small, _ = timed(lambda: mine(x[:6000], y[:15_000]))
    large, _ = timed(lambda: mine(x, y))
    print(f"2x rows on each side: {large / small:.2f}x time (6,000 x 15,000 -> 12,000 x 30,000)")


def budget() -> None:
    """Memory besides mapped files, for a fixed budget and growing files."""
    budget_bytes = 256 << 20
    with tempfile.TemporaryDirectory() as folder:
        for rows in (20_000, 40_000, 80_000):
            path = Path(folder) / "v.npy"
            np.save(path, np.random.default_rng(rows).standard_normal((rows, 256), dtype=np.float32))
            source = open_vectors(str(path))
            peak = peak_anonymous(lambda source=source: knn_graph(source, source, K, memory=budget_bytes))
            print(f"budget {budget_bytes >> 20} MiB, {rows:,} x {rows:,} x 256: peak {peak / (1 << 20):.0f} MiB")


def mine(x: np.ndarray, y: np.ndarray) -> set[tuple[int, int]]:
    pairs = retrieve(knn_graph(from_array(x), from_array(y), K), Retrieval.max)
    return set(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))


def laser_pairs(x: np.ndarray, y: np.ndarray) -> set[tuple[int, int]]:
    """LASER's mine_bitexts.py as it is described: two flat searches, a Python loop over scores, greedy `max`."""
    x, y = x.copy(), y.copy()
    faiss.normalize_L2(x)
    faiss.normalize_L2(y)
    (x_sim, x_ind), (y_sim, y_ind) = flat_search(x, y), flat_search(y, x)
    x_mean, y_mean = x_sim.mean(1), y_sim.mean(1)
    forward = laser_scores(x, y, x_ind, x_mean, y_mean)
    backward = laser_scores(y, x, y_ind, y_mean, x_mean)
    forward_best = x_ind[np.arange(len(x)), forward.argmax(1)]
    backward_best = y_ind[np.arange(len(y)), backward.argmax(1)]
    sources = np.concatenate((np.arange(len(x)), backward_best))
    targets = np.concatenate((forward_best, np.arange(len(y))))
    scores = np.concatenate((forward.max(1), backward.max(1)))
    taken_x, taken_y, pairs = set(), set(), set()
    for edge in np.argsort(-scores):
        i, j = int(sources[edge]), int(targets[edge])
        if i not in taken_x and j not in taken_y:
            taken_x.add(i)
            taken_y.add(j)
            pairs.add((i, j))
    return pairs


def flat_search(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    index = faiss.IndexFlatIP(x.shape[1])
    index.add(y)
    return index.search(x, K)


def laser_scores(
    x: np.ndarray, y: np.ndarray, candidates: np.ndarray, x_mean: np.ndarray, y_mean: np.ndarray
) -> np.ndarray:
    scores = np.zeros(candidates.shape)
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            k = candidates[i, j]
            scores[i, j] = x[i].dot(y[k]) / ((x_mean[i] + y_mean[k]) / 2)
    return scores


def parallel_vectors(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((rows, DIM), dtype=np.float32), rng.standard_normal((columns, DIM), dtype=np.float32)
    y[: rows // 2] = x[: rows // 2] + 0.8 * y[: rows // 2]
    return x, y


def sgemm_rate() -> float:
    """Large products through torch, by the faster of its libraries, as much arithmetic as the job itself, GFLOP/s."""
    a, b, out = torch.randn(4096, DIM), torch.randn(8192, DIM), torch.empty(4096, 8192)
    times = ROWS * COLUMNS // (4096 * 8192)
    with fast_products():
        seconds, _ = timed(lambda: [torch.mm(a, b.T, out=out) for _ in range(times)])
    return 2e-9 * times * 4096 * 8192 * DIM / seconds


def timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def peak_anonymous(work: Callable[[], object]) -> int:
    """The most memory that `work` held besides file pages, in bytes."""
    before, peak, done = anonymous_bytes(), [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], anonymous_bytes())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return peak[0] - before


def anonymous_bytes() -> int:
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))
