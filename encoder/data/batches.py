"""Batches of tensors from drawn examples, made ahead of the model in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from encoder.batch import Batch
from encoder.data.examples import Examples
from encoder.data.sampling import Drawn, SamplerState

Item = TypeVar("Item")


class TrainingBatch(NamedTuple):
    batch: Batch
    after: SamplerState


def training_batches(
    examples: Examples, drawn: Iterable[Drawn], max_tokens: int, seed: int, rank: int = 0, world_size: int = 1
) -> Iterator[TrainingBatch]:
    """Every process draws the same examples and keeps its contiguous share of them."""
    for rows, after in drawn:
        share = len(rows) // world_size
        rng = np.random.default_rng([seed, after.pool, after.used, rank])  # so that a resumed run draws the same
        yield TrainingBatch(examples.batch(rows[rank * share : (rank + 1) * share], max_tokens, rng), after)


def prefetch(items: Iterable[Item], ahead: int = 4) -> Iterator[Item]:
    """The same items, made by a thread that stays up to `ahead` of the consumer; its errors surface here."""
    ready: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(ahead)
    stopped = threading.Event()

    def put(entry: tuple[Item | None, BaseException | None]) -> None:
        while not stopped.is_set():
            try:
                ready.put(entry, timeout=0.2)
                break
            except queue.Full:
                pass

    def produce() -> None:
        try:
            for item in items:
                put((item, None))
                if stopped.is_set():
                    return
            put((None, StopIteration()))
        except BaseException as error:
            put((None, error))

    thread = threading.Thread(target=produce, daemon=True, name="prefetch")
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()
