"""The texts of pairs: asked for by sentence shard, and sent to the output shards that the pairs belong to.

Each sentence shard is read once, whatever the number of output shards. Several shards share a key where there are very
many of them, on both ways, so that what goes through the shuffle stays in pieces worth sending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mining.paths import open_url
from mining.retrieval import DIRECTION_NAMES
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import ALSO, read_shard
from pipelines.mine.score_bands import split_by

Side = Literal["src", "tgt"]
ENDS: tuple[tuple[Side, str], ...] = (("src", "source"), ("tgt", "target"))
_SENTENCE_BYTES = 60  # of its line, source, ranks and scores
_MOST_KEYS = 1024  # of a side
_COLUMNS = ["source", "line", "ref", "text", ALSO.name]


class TextShard(NamedTuple):
    """A file of sentences; their ids are those from `first` on."""

    url: str
    checksum: str
    first: int
    rows: int


class TextRequest(NamedTuple):
    """Sentences that are in pairs: `ranks` are the places of the pairs, best first."""

    ranks: np.ndarray
    ids: np.ndarray


class OutputPart(NamedTuple):
    """Edges, or texts of one side, with their ranks, increasing."""

    kind: Literal["edges", "src", "tgt"]
    ranks: np.ndarray
    rows: Any  # an array or a table

    def within(self, first: int, end: int) -> OutputPart:
        """What has ranks from `first` to before `end`."""
        part = slice(*np.searchsorted(self.ranks, [first, end]).tolist())
        return OutputPart(self.kind, self.ranks[part], self.rows[part])

    def cut(self, size: int) -> Iterator[tuple[int, OutputPart]]:
        """What there is of each run of `size` ranks, by its number."""
        for number in np.unique(self.ranks // size).tolist():
            yield number, self.within(number * size, (number + 1) * size)


def cut_group(parts: Iterable[OutputPart], size: int) -> Iterator[tuple[int, list[OutputPart]]]:
    """The parts of each run of `size` ranks, by its number; edges and both texts of a rank are there together."""
    cuts: dict[int, list[OutputPart]] = {}
    for part in parts:
        for number, own in part.cut(size):
            cuts.setdefault(number, []).append(own)
    yield from sorted(cuts.items())


class TextShards(NamedTuple):
    """The sentence shards of one side, some to a key."""

    shards: tuple[TextShard, ...]

    @property
    def rows(self) -> int:
        return self.shards[-1].first + self.shards[-1].rows if self.shards else 0

    @property
    def shards_a_key(self) -> int:
        return -(-len(self.shards) // _MOST_KEYS)

    def keys(self, ids: np.ndarray) -> np.ndarray:
        """The key of each sentence."""
        ends = np.array([shard.first + shard.rows for shard in self.shards])
        return np.searchsorted(ends, ids, side="right") // max(self.shards_a_key, 1)

    def of_key(self, key: int) -> tuple[TextShard, ...]:
        return self.shards[key * self.shards_a_key : (key + 1) * self.shards_a_key]


def text_shards(*datasets: Dataset) -> TextShards:
    """The shards of a corpus, whose ids count from 0, and of what comes behind it."""
    found: list[TextShard] = []
    first = 0
    for dataset in datasets:
        for shard in dataset.shards:
            found.append(TextShard(dataset.place(shard), shard.checksum, first, shard.rows))
            first += shard.rows
    return TextShards(tuple(found))


def mean_text_bytes(texts: TextShards) -> float:
    """What a sentence takes in memory with what is known of it, by the first shard."""
    if not texts.rows:
        return 0.0
    with open_url(texts.shards[0].url) as stream:
        file = pq.ParquetFile(stream)
        refs = file.read_row_group(0, ["ref"])  # a URL of many sentences is stored once, but held for each of them
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    stored = sum(group.total_byte_size for group in groups) / texts.shards[0].rows
    return _SENTENCE_BYTES + stored + refs.nbytes / len(refs)


def request_texts(
    edges: np.ndarray, ranks: np.ndarray, source: TextShards, target: TextShards
) -> Iterator[tuple[tuple[Side, int], TextRequest]]:
    """What the edges ask of each key of sentence shards."""
    for (side, end), texts in zip(ENDS, (source, target), strict=True):
        for key, rows in split_by(texts.keys(edges[end]), np.arange(len(edges))):
            yield (side, key), TextRequest(ranks[rows], edges[end][rows])


def fetch_texts(
    side: Side, shards: Sequence[TextShard], requests: Sequence[TextRequest], ranks_a_group: int
) -> Iterator[tuple[int, OutputPart]]:
    """The texts that were asked of some shards, by group of output shards."""
    ranks, ids = (np.concatenate(column) for column in zip(*requests, strict=True))
    order = np.argsort(ranks)
    ranks, ids = ranks[order], ids[order]
    tables, places = [], np.empty(len(ids), np.int64)
    read = 0
    for shard in shards:
        own = np.flatnonzero((ids >= shard.first) & (ids < shard.first + shard.rows))
        if len(own):
            wanted, back = np.unique(ids[own] - shard.first, return_inverse=True)
            tables.append(read_shard(shard.url, _COLUMNS, shard.checksum).take(pa.array(wanted)))
            places[own] = read + back
            read += len(wanted)
    table = pa.concat_tables(tables).unify_dictionaries()
    for group, rows in split_by(ranks // ranks_a_group, np.arange(len(ids))):
        yield group, OutputPart(side, ranks[rows], table.take(pa.array(places[rows])))


def assemble(parts: Sequence[OutputPart]) -> pa.Table:
    """The pairs table of an output shard, best first."""
    edges = np.concatenate([part.rows for part in parts if part.kind == "edges"])
    edges = edges[np.argsort(np.concatenate([part.ranks for part in parts if part.kind == "edges"]))]
    columns: dict[str, pa.Array] = {
        "src_id": pa.array(edges["source"].astype(np.uint64)),
        "tgt_id": pa.array(edges["target"].astype(np.uint64)),
        "score": pa.array(edges["score"]),
        "cosine": pa.array(edges["cosine"]),
        "directions": pa.array(DIRECTION_NAMES[edges["directions"]].tolist(), pa.string()),
    }
    for side, _ in ENDS:
        of_side = [part for part in parts if part.kind == side]
        order = pa.array(np.argsort(np.concatenate([part.ranks for part in of_side])))
        tables = [part.rows.set_column(0, "source", part.rows["source"].cast(pa.string())) for part in of_side]
        rows = pa.concat_tables(tables).take(order).combine_chunks()
        columns |= {f"{side}_{name}": rows[name] for name in rows.column_names}
    return pa.table(columns)
