"""Work folders as `mine` leaves them, written at once without running it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mining.neighbours import Neighbours, write_neighbours
from mining.pairs import conform
from mining.score_counts import ScoreCounts
from mining.vectors import write_vectors
from pipelines.datasets.manifest import SOURCE, TARGET, Counters, Dataset, Input, Kind, Request, Shard
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import Work, begin
from pipelines.mine.score_curve import ScoreCurve

DIM = 4
BELOW = 7  # matched pairs below the threshold


def begun_work(folder: Path, kind: Kind) -> Work:
    """A dataset in the making, in a folder of its kind's name."""
    work = begin(str(folder / kind), Request(kind=kind, configuration={}, inputs=[]))
    assert isinstance(work, Work)
    return work


class Pair(NamedTuple):
    src: str
    tgt: str
    score: float


def pairs_of(count: int) -> list[Pair]:
    """Made-up pairs, best first."""
    return [Pair(f"sentence number {i}", f"Satz Nummer {i}", 2.0 - i / count) for i in range(count)]


def write_work(
    folder: Path,
    pairs: list[Pair],
    langs: tuple[str, str] = ("en", "de"),
    curve: ScoreCurve | None = None,
    pairs_folder: Path | None = None,
) -> Path:
    """Sentences, vectors, a graph and pairs; one more pair was dropped by a filter."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [
        write_sentences(folder / name, [getattr(pair, name) for pair in pairs] + [f"alone {name}"], lang)
        for name, lang in zip(("src", "tgt"), langs, strict=True)
    ]
    vectors = [_vectors(Path(f"{side.url}-vectors"), side) for side in sides]
    graph = _graph(folder / "graph", vectors)
    place = pairs_folder or folder / "pairs"
    scores = np.array([pair.score for pair in pairs], np.float32)
    (curve or ScoreCurve.of(ScoreCounts.of(np.append(scores, np.full(1 + BELOW, 1.0, np.float32))), None)).write(
        str(place)
    )
    _pairs(place, pairs, [graph, *sides])
    return folder


def _start(folder: Path, request: Request):  # type: ignore[no-untyped-def]
    curve = folder / "curve.json"
    kept = curve.read_bytes() if curve.exists() else None
    if kept is not None:
        curve.unlink()
    work = begin(str(folder), request)
    if kept is not None:
        curve.write_bytes(kept)
    return work


def write_sentences(folder: Path, texts: list[str], lang: str) -> Dataset:
    source = str(folder.parent / f"{folder.name}.txt")
    request = Request(
        kind="sentences",
        configuration={"read": {"lang": lang}},
        inputs=[Input(role="text", name=source, fingerprint="00")],
    )
    work = _start(folder, request)
    rows = len(texts)
    columns = [
        pa.array(np.arange(rows, dtype=np.uint64)),
        constant(source, rows),
        pa.array(np.arange(1, rows + 1)),
        pa.nulls(rows, pa.string()),
        constant(lang, rows),
        pa.array(texts, pa.string()),
    ]
    digest = write_shard(work.place("00000.parquet"), pa.table(columns, schema=SCHEMA))
    counters = Counters(rows_in=rows + 2, kept=rows, dropped={"duplicate": 2})
    return work.complete([Shard(index=0, name="00000.parquet", rows=rows, digest=digest)], counters)


def _vectors(folder: Path, sentences: Dataset) -> Dataset:
    configuration = {"encoder": "e1e2", "dim": DIM, "dtype": "float32"}
    work = _start(folder, Request(kind="vectors", configuration=configuration, inputs=[sentences.as_input()]))
    array = np.random.default_rng(0).normal(size=(sentences.rows, DIM)).astype(np.float32)
    write_vectors(work.place("00000.arrow"), np.arange(sentences.rows), array)
    shard = Shard(index=0, name="00000.arrow", rows=sentences.rows, digest="11")
    return work.complete([shard], Counters(rows_in=sentences.rows, kept=sentences.rows))


def _graph(folder: Path, vectors: list[Dataset]) -> Dataset:
    inputs = [data.as_input(role, str(folder)) for role, data in zip((SOURCE, TARGET), vectors, strict=True)]
    work = _start(folder, Request(kind="graph", configuration={"k": 2, "search": "exact"}, inputs=inputs))
    shards = []
    for number, direction in enumerate(("forward", "backward")):
        rows = vectors[number].rows
        ids = np.stack([np.zeros(rows, np.int64), np.arange(rows) % max(rows - 1, 1)], axis=1)  # row 0 is a hub
        name = f"{direction}-00000.parquet"
        neighbours = Neighbours(ids, np.tile(np.float32([0.9, 0.5]), (rows, 1)))
        write_neighbours(str(folder / name), np.arange(rows), neighbours, {"direction": direction})
        shards.append(Shard(index=number, name=name, rows=rows, digest=str(number), role=direction))
    return work.complete(shards, Counters(rows_in=2, kept=2))


def _pairs(folder: Path, pairs: list[Pair], inputs: list[Dataset]) -> Dataset:
    configuration = {"margin": "ratio", "retrieval": "max", "threshold": {"at_least": 1.0}}
    roles = ("graph", SOURCE, TARGET)
    given = [dataset.as_input(role, str(folder)) for role, dataset in zip(roles, inputs, strict=True)]
    work = _start(folder, Request(kind="pairs", configuration=configuration, inputs=given))
    rows = len(pairs)
    table = pa.table(
        {
            "src_id": pa.array(np.arange(rows, dtype=np.uint64)),
            "tgt_id": pa.array(np.arange(rows, dtype=np.uint64)),
            "score": pa.array([pair.score for pair in pairs], pa.float32()),
            "src_text": pa.array([pair.src for pair in pairs], pa.string()),
            "tgt_text": pa.array([pair.tgt for pair in pairs], pa.string()),
            **{f"{side}_source": pa.repeat(f"{folder.parent}/{side}.txt", rows) for side in ("src", "tgt")},
            **{f"{side}_line": pa.array(np.arange(1, rows + 1)) for side in ("src", "tgt")},
        }
    )
    pq.write_table(conform(table), folder / "00000.parquet")
    dropped = {
        "src_text": ["a b c"],
        "tgt_text": ["a b c"],
        "score": pa.array([1.0], pa.float32()),
        "reason": ["identical"],
    }
    pq.write_table(conform(pa.table(dropped)), folder / "rejected-00000.parquet")
    own = Counters(rows_in=rows + 1, kept=rows, dropped={"identical": 1})
    counters = own + Counters(rows_in=BELOW, dropped={"below_threshold": BELOW})
    shard = Shard(index=0, name="00000.parquet", rows=rows, digest=f"{hash(tuple(pairs)):x}", counters=own)
    return work.complete([shard], counters, {"threshold": 1.0})
