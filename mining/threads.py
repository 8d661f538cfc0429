"""Row ranges of compiled kernels (which release the interpreter's lock) spread over threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch


def core_count() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """A pool of `count` threads; torch's own operations use as many."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)

    def over_rows(self, rows: int, work: Callable[[int, int, int], object]) -> None:
        """Call `work(thread, start, stop)` once for each thread's share of the rows."""
        edges = [rows * part // self.count for part in range(self.count + 1)]
        jobs = [
            self._pool.submit(work, part, edges[part], edges[part + 1])
            for part in range(self.count)
            if edges[part] < edges[part + 1]
        ]
        for job in jobs:
            job.result()

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def thread_pool(count: int | None = None) -> Iterator[Threads]:
    """Threads for one computation, torch included; both are put back afterwards."""
    before = torch.get_num_threads()
    threads = Threads(count or core_count())
    torch.set_num_threads(threads.count)
    try:
        yield threads
    finally:
        threads.close()
        torch.set_num_threads(before)
