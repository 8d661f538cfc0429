"""The mines of all languages, some at a time: each is small, and most of its time is a single thread's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from mining.errors import InputError
from mining.threads import core_count
from pipelines.datasets.manifest import Dataset
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.text_job import mine_corpora
from pipelines.runners.quiet import start_quiet_worker


def mine_all(jobs: Sequence[JobSettings]) -> Iterator[Dataset | InputError]:
    """The pairs of each job, in order, or why there are none."""
    processes = min(core_count(), len(jobs))
    if processes == 1:
        yield from map(_pairs, jobs)
        return
    threads = max(1, core_count() // processes)
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=start_quiet_worker) as pool:
        yield from pool.map(_pairs, [job.model_copy(update={"threads": threads}) for job in jobs])


def _pairs(job: JobSettings) -> Dataset | InputError:
    try:
        return mine_corpora(job).pairs
    except InputError as error:
        return error
