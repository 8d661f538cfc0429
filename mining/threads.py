"""Row ranges of compiled kernels (which release the interpreter's lock) spread over threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType


def core_count() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """A pool of `count` threads; torch's own operations use as many, and are put back afterwards."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)
        self._torch_threads: int | None = None  # that torch had before
        if "torch" in sys.modules:
            self.torch()

    def torch(self) -> ModuleType:
        """Torch with this many threads; it takes a second to load, which little work does without."""
        import torch

        if self._torch_threads is None:
            self._torch_threads = torch.get_num_threads()
            torch.set_num_threads(self.count)
        return torch

    def over_rows(self, rows: int, work: Callable[[int, int, int], object]) -> None:
        """Call `work(thread, start, stop)` once for each thread's share of the rows."""
        if self.count == 1:  # no other thread is woken for what this one can do
            if rows:
                work(0, 0, rows)
            return
        edges = [rows * part // self.count for part in range(self.count + 1)]
        jobs = [
            self._pool.submit(work, part, edges[part], edges[part + 1])
            for part in range(self.count)
            if edges[part] < edges[part + 1]
        ]
        for job in jobs:
            job.result()

    def multiply_over_rows(self, rows: int, work: Callable[[int, int, int], object]) -> None:
        """`over_rows` where each thread calls torch for itself: it must say so, or torch adds as many for each."""
        torch = self.torch()

        def alone(thread: int, start: int, stop: int) -> None:
            torch.set_num_threads(1)  # of the calling thread
            work(thread, start, stop)

        try:
            self.over_rows(rows, alone)
        finally:
            torch.set_num_threads(self.count)

    def close(self) -> None:
        self._pool.shutdown()
        if self._torch_threads is not None:
            self.torch().set_num_threads(self._torch_threads)


@contextmanager
def thread_pool(count: int | None = None) -> Iterator[Threads]:
    """Threads for one computation."""
    threads = Threads(count or core_count())
    try:
        yield threads
    finally:
        threads.close()
