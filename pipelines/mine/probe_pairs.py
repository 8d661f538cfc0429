"""Seed pairs planted behind the corpora: sentences datasets whose ids continue those of the corpus."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from encoder.normalize import normalize
from mining.errors import InputError
from mining.files import iterate_lines
from mining.probes import plan_probes
from pipelines.datasets.manifest import CORPUS, SEED, Counters, Dataset, Request, Shard, file_input
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import begin, new_name
from pipelines.prepare.parts import CLEANING


def read_seed_pairs(url: str) -> list[tuple[str, str]]:
    """Known translations, `source TAB target` a line, in the normal form of prepared sentences."""
    pairs = []
    for number, line in enumerate(iterate_lines(url), 1):
        fields = line.split("\t")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise InputError(f"{url}, line {number}: a seed pair is `source TAB target`, both with text")
        pairs.append((fields[0], fields[1]))
    sides = [normalize([pair[side] for pair in pairs], CLEANING) for side in (0, 1)]
    return list(zip(*sides, strict=True))


def plant(url: str, side: int, corpus: Dataset, lang: str, out: str) -> Dataset:
    """The sentences of one side (0 or 1) that are planted, as a dataset to embed and mine behind `corpus`."""
    pairs = read_seed_pairs(url)
    plan = plan_probes(len(pairs))
    chosen = plan.targets() if side else plan.sources()
    configuration = {"read": {"lang": lang}, "first_id": corpus.rows, "side": side}
    inputs = [file_input(url, SEED), corpus.as_input(CORPUS, out)]
    work = begin(out, Request(kind="sentences", configuration=configuration, inputs=inputs))
    if isinstance(work, Dataset):
        return work
    count = len(chosen)
    columns = [
        pa.array(np.arange(corpus.rows, corpus.rows + count, dtype=np.uint64)),
        constant(url, count),
        pa.array(chosen + 1),
        pa.nulls(count, pa.string()),
        constant(lang, count),
        pa.array([pairs[row][side] for row in chosen.tolist()], pa.string()),
    ]
    name = new_name(0, "parquet")
    digest = write_shard(work.place(name), pa.table(columns, schema=SCHEMA))
    shard = Shard(index=0, name=name, rows=count, digest=digest)
    return work.complete([work.note(shard)], Counters(rows_in=count, kept=count))
