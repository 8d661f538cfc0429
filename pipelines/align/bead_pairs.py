"""Aligned beads as a pairs dataset, so that `review` and `report` take them as they take mined pairs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from mining.files import atomic_writer
from mining.pairs import SCHEMA
from pipelines.align.align_job import AlignResult
from pipelines.align.outputs import pair_rows
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.datasets.manifest import SOURCE, TARGET, Counters, Dataset, Request, Shard, fingerprint
from pipelines.datasets.work import begin, new_name


def store_beads(result: AlignResult, sentences: list[Dataset], alignment: Dataset, least: float, url: str) -> Dataset:
    """The beads of two sides in the dataset `url`, the surest first; `least` is the confidence that documents had."""
    inputs = [dataset.as_input(role, url) for role, dataset in zip((SOURCE, TARGET), sentences, strict=True)]
    configuration = {"alignment": alignment.fingerprint, "confidence": least}
    work = begin(url, Request(kind="pairs", configuration=dict(configuration), inputs=inputs))
    if isinstance(work, Dataset):
        return work
    table = pa.Table.from_batches(pair_rows(result), SCHEMA).sort_by([("score", "descending")])
    shards = []
    for index, first in enumerate(range(0, len(table), ROWS_PER_SHARD)):
        rows = table.slice(first, ROWS_PER_SHARD)
        name = new_name(index, "parquet")
        with atomic_writer(work.place(name)) as stream:
            pq.write_table(rows, stream, compression="zstd")
        digest = fingerprint(rows["score"].to_numpy().tobytes(), *rows["src_text"].to_pylist())
        counters = Counters(rows_in=len(rows), kept=len(rows))
        shards.append(work.note(Shard(index=index, name=name, rows=len(rows), digest=digest, counters=counters)))
    return work.complete(shards, sum((shard.counters for shard in shards), Counters()))
