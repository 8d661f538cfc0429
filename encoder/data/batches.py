"""Batches of tensors from drawn pairs, made ahead of the model in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from encoder.batch import Batch
from encoder.data.sampling import Drawn, SamplerState
from encoder.data.store import Store

Item = TypeVar("Item")


class TrainingBatch(NamedTuple):
    batch: Batch
    after: SamplerState


def pair_batch(store: Store, pairs: np.ndarray, max_tokens: int) -> Batch:
    """`pairs` is (n, 3), see `PairSource`; the batch has 2n sentences, left sides first."""
    rows = np.concatenate([pairs[:, 0], pairs[:, 1]])
    return Batch(
        tokens=store.take(rows, max_tokens).batch(),
        example=torch.arange(len(pairs)).repeat(2),
        language=torch.from_numpy(store.language[rows].astype(np.int64)),
        text=torch.from_numpy(store.texts[rows]),
        meaning=torch.from_numpy(np.tile(pairs[:, 2], 2)),
        examples=len(pairs),
    )


def training_batches(
    store: Store, drawn: Iterable[Drawn], max_tokens: int, rank: int = 0, world_size: int = 1
) -> Iterator[TrainingBatch]:
    """Every process draws the same pairs and keeps its contiguous share of them."""
    for pairs, after in drawn:
        share = len(pairs) // world_size
        yield TrainingBatch(pair_batch(store, pairs[rank * share : (rank + 1) * share], max_tokens), after)


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
