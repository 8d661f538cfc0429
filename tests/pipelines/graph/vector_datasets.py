"""Datasets of given vectors, without sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import JsonValue

from mining.vectors import write_vectors
from pipelines.datasets.manifest import SENTENCES, Counters, Dataset, Request, Shard
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import Work, begin


def write_side(
    folder: Path | str,
    array: np.ndarray,
    shards: int,
    encoder: str = "e",
    first: int = 0,
    sentences: Dataset | None = None,
) -> str:
    configuration: dict[str, JsonValue] = {"encoder": encoder, "dim": array.shape[1], "dtype": "float32"}
    inputs = [] if sentences is None else [sentences.as_input(SENTENCES, str(folder))]
    work = begin(str(folder), Request(kind="vectors", configuration=configuration, inputs=inputs))
    assert isinstance(work, Work)
    made = []
    for index, part in enumerate(np.array_split(array, shards)):
        name = f"{index:05d}.arrow"
        write_vectors(work.place(name), np.arange(first, first + len(part)), part)
        made.append(work.sealed(Shard(index=index, name=name, rows=len(part), digest=str(index))))
        first += len(part)
    work.complete(made, Counters(rows_in=len(array), kept=len(array)))
    return str(folder)


def write_probes(folder: Path, array: np.ndarray, first: int, numbers: np.ndarray) -> str:
    """Vectors behind a corpus of `first` rows, each an end of the seed pair of its number."""
    work = begin(f"{folder}-sentences", Request(kind="sentences", configuration={}, inputs=[]))
    assert isinstance(work, Work)
    rows = len(array)
    ids = pa.array(np.arange(first, first + rows, dtype=np.uint64))
    columns = [ids, constant("seed", rows), pa.array(numbers), pa.nulls(rows, pa.string()), *[constant("", rows)] * 2]
    digest = write_shard(work.place("00000.parquet"), pa.table(columns, schema=SCHEMA))
    shard = work.note(Shard(index=0, name="00000.parquet", rows=rows, digest=digest))
    sentences = work.complete([shard], Counters(rows_in=rows, kept=rows))
    return write_side(folder, array, 1, first=first, sentences=sentences)
