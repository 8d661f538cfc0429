"""Datasets of given vectors, without sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mining.vectors import write_vectors
from pipelines.datasets.manifest import Counters, Request, Shard
from pipelines.datasets.work import Work, begin


def write_side(folder: Path | str, array: np.ndarray, shards: int, encoder: str = "e") -> str:
    request = Request(
        kind="vectors", configuration={"encoder": encoder, "dim": array.shape[1], "dtype": "float32"}, inputs=[]
    )
    work = begin(str(folder), request)
    assert isinstance(work, Work)
    made, first = [], 0
    for index, part in enumerate(np.array_split(array, shards)):
        name = f"{index:05d}.arrow"
        write_vectors(work.place(name), np.arange(first, first + len(part)), part)
        made.append(work.sealed(Shard(index=index, name=name, rows=len(part), digest=str(index))))
        first += len(part)
    work.complete(made, Counters(rows_in=len(array), kept=len(array)))
    return str(folder)
