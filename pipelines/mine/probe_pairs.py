"""Probe pairs behind the corpora: sentences datasets whose ids continue those of the corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from encoder.normalize import normalize
from mining.errors import InputError
from mining.files import iterate_lines
from mining.probes import ProbeRows, distinct, plan_probes, probe_rows
from pipelines.datasets.manifest import CORPUS, SEED, Counters, Dataset, Input, Request, Shard, file_input
from pipelines.datasets.sentences import SCHEMA, UNKNOWN_LANGUAGE, constant, read_shard, write_shard
from pipelines.datasets.side_datasets import open_side
from pipelines.datasets.side_folders import SideFolders
from pipelines.datasets.work import begin, new_name, place_for
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


class ProbeSide(NamedTuple):
    """Where the probes of one side go: behind this corpus, as a dataset in this folder, or beside it if it is taken."""

    corpus: Dataset
    lang: str | None
    out: str


def add_probes(url: str, source: ProbeSide, target: ProbeSide) -> tuple[Dataset, Dataset]:
    """The probe sentences, as datasets to embed and mine behind the corpora.

    Their `line` is that of the seed pair, so that the two together are the plan (`read_plan`).
    """
    pairs = read_seed_pairs(url)
    chosen = distinct(*zip(*pairs, strict=True)) if pairs else np.empty(0, np.int64)
    plan = plan_probes(len(chosen))
    texts = [[pair[side] for pair in pairs] for side in (0, 1)]
    origin = file_input(url, SEED)
    return (
        write_probes(origin, source, 0, chosen[plan.sources()], texts[0]),
        write_probes(origin, target, 1, chosen[plan.targets()], texts[1]),
    )


def write_probes(origin: Input, side: ProbeSide, number: int, rows: NDArray[np.int64], texts: list[str]) -> Dataset:
    """The probes of one side: `rows` of the pairs of `origin`, of which `texts` are this side's."""
    first, count = side.corpus.rows, len(rows)
    configuration = {"read": {"lang": side.lang}, "first_id": first, "side": number}
    inputs = [origin, side.corpus.as_input(CORPUS, side.out)]
    request = Request(kind="sentences", configuration=configuration, inputs=inputs)
    work = begin(place_for(side.out, request), request)
    if isinstance(work, Dataset):
        return work
    columns = [
        pa.array(np.arange(first, first + count, dtype=np.uint64)),
        constant(origin.name, count),
        pa.array(rows + 1),
        pa.nulls(count, pa.string()),
        constant(side.lang or UNKNOWN_LANGUAGE, count),
        pa.array([texts[row] for row in rows.tolist()], pa.string()),
    ]
    name = new_name(0, "parquet")
    digest = write_shard(work.place(name), pa.table(columns, schema=SCHEMA))
    shard = Shard(index=0, name=name, rows=count, digest=digest)
    return work.complete([work.note(shard)], Counters(rows_in=count, kept=count))


class StoredPlan(NamedTuple):
    """Where the probes are among the rows mined, and how many rows each side has with them."""

    rows: ProbeRows
    n_src: int
    n_tgt: int
    probes: tuple[int, int]  # of these rows


def read_plan(source: SideFolders, target: SideFolders) -> StoredPlan:
    """The plan that `add_probes` stored, from the sentences of each side."""
    sizes, lines = [], []
    for side in (open_side(folders, "sentences") for folders in (source, target)):
        probes = side.probes
        assert probes is not None, "a plan is that of probes"
        sizes.append(side.corpus.rows)
        tables = [read_shard(probes.shard_url(shard), ["line"]) for shard in probes.shards]
        lines.append(np.concatenate([table["line"].to_numpy() for table in tables]))
    rows = probe_rows(lines[0], lines[1], sizes[0], sizes[1])
    return StoredPlan(rows, sizes[0] + len(lines[0]), sizes[1] + len(lines[1]), (len(lines[0]), len(lines[1])))
