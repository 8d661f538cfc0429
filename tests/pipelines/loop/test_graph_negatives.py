"""Hard negatives of a small graph, against all neighbours looked at one by one."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group, Triple
from mining.margin import Margin
from mining.neighbours import KnnGraph, Neighbours, write_neighbours
from pipelines.datasets.manifest import Counters, Dataset, Request, Shard
from pipelines.datasets.sentences import SCHEMA, column_of, constant, write_shard
from pipelines.datasets.work import Work
from pipelines.evaluation.benchmark import graph_of
from pipelines.loop.graph_negatives import NegativeLimits, hard_negatives, write_triples

ROWS, PROBES, K, BELOW = 30, 6, 4, 1.0


def dataset(folder: Path, kind: str, shards: list[Shard]) -> Dataset:
    request = Request(kind=kind, configuration={}, inputs=[])  # type: ignore[arg-type]
    return Work(str(folder), request).complete(shards, Counters())


@pytest.fixture
def graph() -> KnnGraph:
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(2, ROWS + PROBES, 6)).astype(np.float32)
    target[:ROWS] += 2 * source[:ROWS]  # so that rows correspond
    return graph_of(source, target, K)


@pytest.fixture
def stored(graph: KnnGraph, tmp_path: Path) -> Dataset:
    """The graph in two shards of each direction."""
    shards = []
    for direction, neighbours in zip(KnnGraph._fields, graph, strict=True):
        for number, rows in enumerate(np.array_split(np.arange(ROWS + PROBES), 2)):
            name = f"{direction}-{number:05d}.parquet"
            part = type(neighbours)(neighbours.ids[rows], neighbours.scores[rows])
            write_neighbours(str(tmp_path / "graph" / name), rows, part, {"direction": direction})
            shards.append(Shard(index=len(shards), name=name, rows=len(rows), digest="", role=direction))
    return dataset(tmp_path / "graph", "graph", shards)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_against_one_by_one(graph: KnnGraph, stored: Dataset, direction: str) -> None:
    own, other = (graph.forward, graph.backward) if direction == "forward" else (graph.backward, graph.forward)
    ids = np.arange(0, ROWS, 2)
    cosines = np.linspace(0.2, 0.9, len(ids))
    columns = {"src_id": pa.array(ids, pa.uint64()), "tgt_id": pa.array(ids, pa.uint64()), "cosine": cosines}
    limits = NegativeLimits(BELOW, share=0.9)
    found = hard_negatives(stored, pa.table(columns), direction, ROWS, limits, Margin.ratio)  # type: ignore[arg-type]
    expected = []
    for row, own_cosine in zip(ids.tolist(), cosines.tolist(), strict=True):
        for neighbour, cosine in zip(own.ids[row].tolist(), own.scores[row].tolist(), strict=True):
            margin = cosine / ((own.scores[row].mean() + other.scores[neighbour].mean()) / 2)
            if neighbour != row and neighbour < ROWS and margin < BELOW and cosine <= 0.9 * own_cosine:
                expected.append((row, row, neighbour))
                break
    assert 0 < len(expected) < len(ids)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_of_the_graph_only_what_pairs_ask_for_is_held(stored: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    means = Neighbours.means
    monkeypatch.setattr(Neighbours, "means", lambda lists: held.append(len(lists.ids)) or means(lists))
    ids = pa.array([3, 1, 3], pa.uint64())
    pairs = pa.table({"src_id": ids, "tgt_id": ids, "cosine": np.ones(3)})
    hard_negatives(stored, pairs, "forward", ROWS, NegativeLimits(BELOW), Margin.ratio)
    assert len(held) == 2 and max(held) <= 2 * K


def sentences(folder: Path, lang: str) -> Dataset:
    shards = []
    for number, ids in enumerate(np.array_split(np.arange(ROWS), 3)):
        columns = [
            pa.array(ids, pa.uint64()),
            constant("file", len(ids)),
            pa.array(ids + 1),
            pa.nulls(len(ids), pa.string()),
            constant(lang, len(ids)),
            pa.array([f"{lang} sentence {n}" for n in ids]),
        ]
        name = f"{number:05d}.parquet"
        write_shard(str(folder / name), pa.table(columns, schema=SCHEMA))
        shards.append(Shard(index=number, name=name, rows=len(ids), digest=""))
    return dataset(folder, "sentences", shards)


def test_the_trainer_reads_them_as_triples(stored: Dataset, tmp_path: Path) -> None:
    german, english = sentences(tmp_path / "de", "de"), sentences(tmp_path / "en", "en")
    found = column_of(german, "text", np.array([25, 0, 25])).to_pylist()
    assert found == ["de sentence 25", "de sentence 0", "de sentence 25"]
    ids = pa.array(range(ROWS), pa.uint64())
    pairs = pa.table({"src_id": ids, "tgt_id": ids, "cosine": np.ones(ROWS)})
    found = hard_negatives(stored, pairs, "forward", ROWS, NegativeLimits(BELOW), Margin.ratio)
    path = tmp_path / "negatives-de-en.tsv"
    write_triples(path, found, german, english, ("de", "en"))
    file = find_files(DataSettings(corpora=(CorpusSettings(path=str(path), format="nli"),)))[0]
    read = [row for row in read_groups(file) if isinstance(row, Triple)]
    assert len(read) == len(found.anchor) > 0
    assert [(t.anchor, t.positive, t.negative) for t in read] == [
        tuple(Group((lang,), (f"{lang} sentence {n}",)) for lang, n in zip(("de", "en", "en"), row, strict=True))
        for row in zip(*(column.tolist() for column in found), strict=True)
    ]
