"""Graphs of made-up neighbours in any cutting, as counted files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mining.filters import FilterSettings
from mining.neighbours import Neighbours, write_neighbours
from pipelines.datasets.manifest import SOURCE, TARGET, Counters, Dataset, Request, Shard
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import Work, begin
from pipelines.mine.mine_settings import MineSettings
from pipelines.planning.counted_files import PROTOCOL

K = 4


def write_graph(folder: Path, rows: int, shards: int) -> MineSettings:
    """Two sides of so many sentences, half of them with a counterpart, and their graph; the same in any cutting."""
    sides = [_sentences(folder / name, rows, shards) for name in ("src", "tgt")]
    vectors = []
    for side in sides:
        place = Path(f"{side.url.removeprefix(f'{PROTOCOL}://')}-vectors")
        vectors.append(_begun(place, "vectors", [side.as_input("", f"{PROTOCOL}://{place}")]).complete([], Counters()))
    inputs = [
        data.as_input(role, f"{PROTOCOL}://{folder}/graph")
        for role, data in zip((SOURCE, TARGET), vectors, strict=True)
    ]
    work = _begun(folder / "graph", "graph", inputs)
    made = []
    for direction in ("forward", "backward"):
        for number, ids in enumerate(np.array_split(np.arange(rows), shards)):
            name = f"{direction}-{number:05d}.parquet"
            write_neighbours(work.place(name), ids, _neighbours(ids, rows, direction), {})
            made.append(Shard(index=len(made), name=name, rows=len(ids), digest=f"{len(made)}", role=direction))
    work.complete(made, Counters(rows_in=2 * rows, kept=2 * rows))
    return graph_settings(folder)


def graph_settings(folder: Path) -> MineSettings:
    """Of a mine of what `write_graph` wrote."""
    graph, source, target, out = (f"{PROTOCOL}://{folder}/{name}" for name in ("graph", "src", "tgt", "pairs"))
    return MineSettings(graph=graph, source=source, target=target, out=out, filters=FilterSettings.none())


def _begun(place: Path, kind: Any, inputs: list) -> Work:
    work = begin(f"{PROTOCOL}://{place}", Request(kind=kind, configuration={}, inputs=inputs))
    assert isinstance(work, Work)
    return work


def _sentences(place: Path, rows: int, shards: int) -> Dataset:
    work = _begun(place, "sentences", [])
    made = []
    for number, ids in enumerate(np.array_split(np.arange(rows), shards)):
        count = len(ids)
        texts = pa.array(np.char.add(f"{place.name} ", ids.astype(str)))
        columns = [pa.array(ids.astype(np.uint64)), constant("a.txt", count), pa.array(ids + 1)]
        table = pa.table([*columns, pa.nulls(count, pa.string()), constant("en", count), texts], schema=SCHEMA)
        name = f"{number:05d}.parquet"
        made.append(Shard(index=number, name=name, rows=count, digest=write_shard(work.place(name), table)))
    return work.complete(made, Counters(rows_in=rows, kept=rows))


def _neighbours(ids: np.ndarray, rows: int, direction: str) -> Neighbours:
    """By a hash of both ends, so that what two sentences are to each other does not depend on who asks."""
    others = np.stack([ids, *(_mixed(ids * 7 + place) % rows for place in range(1, K))], axis=1)
    source, target = (ids[:, None], others) if direction == "forward" else (others, ids[:, None])
    scores = 0.3 + 0.3 * (_mixed(source * 31 + target) % 100_003) / 100_003
    scores[:, 0] += np.where(_mixed(ids) % 2, 0.4, 0.0)
    order = np.argsort(-scores, axis=1, kind="stable")
    return Neighbours(*(np.take_along_axis(part, order, 1) for part in (others, scores.astype(np.float32))))


def _mixed(values: np.ndarray) -> np.ndarray:
    """Any number to one that looks random (splitmix64)."""
    mixed = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed ^ (mixed >> np.uint64(27))) >> np.uint64(2)).astype(np.int64)
