"""Nearest-neighbour graphs: the best k of the other side for every sentence, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.files import atomic_writer, open_binary
from mining.top_k import MISSING


class Neighbours(NamedTuple):
    """For each row its nearest of the other side, best first; `MISSING` and -inf where there are fewer than k."""

    ids: np.ndarray  # (rows, k) int64
    scores: np.ndarray  # (rows, k) float32 cosines

    @classmethod
    def none(cls, rows: int, k: int) -> Neighbours:
        return cls(np.full((rows, k), MISSING, np.int64), np.full((rows, k), -np.inf, np.float32))

    def means(self) -> np.ndarray:
        """Mean cosine of the neighbours that exist (float64), zero where there are none."""
        exists = self.ids != MISSING
        total = np.where(exists, self.scores, 0.0).sum(1, dtype=np.float64)
        return total / np.maximum(exists.sum(1), 1)


class KnnGraph(NamedTuple):
    """Both directions, filled by one pass."""

    forward: Neighbours  # source -> target
    backward: Neighbours  # target -> source


def merge(parts: Sequence[Neighbours], k: int) -> Neighbours:
    """The best k over partial lists of the same rows.

    Associative, commutative and idempotent, so shards may be combined in any order and grouping, and one that is
    delivered twice does no harm.
    """
    ids = np.concatenate([part.ids for part in parts], axis=1)
    scores = np.concatenate([part.scores for part in parts], axis=1)
    ids, scores = _in_order(ids, scores)
    repeated = np.zeros(ids.shape, bool)
    repeated[:, 1:] = (ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] != MISSING)
    if repeated.any():
        ids, scores = _in_order(np.where(repeated, MISSING, ids), np.where(repeated, -np.inf, scores))
    if ids.shape[1] < k:
        filler = Neighbours.none(len(ids), k - ids.shape[1])
        ids, scores = np.hstack([ids, filler.ids]), np.hstack([scores, filler.scores])
    return Neighbours(np.ascontiguousarray(ids[:, :k]), np.ascontiguousarray(scores[:, :k], np.float32))


def _in_order(ids: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row by score, ties by lowest id."""
    order = np.lexsort((ids, -scores), axis=1)
    return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)


def write_neighbours(url: str, row_ids: np.ndarray, neighbours: Neighbours, metadata: dict[str, str]) -> None:
    """One direction as Parquet: `id`, `neighbours`, `scores`; neighbours that do not exist are left out."""
    exists = neighbours.ids != MISSING
    offsets = pa.array(np.concatenate([[0], np.cumsum(exists.sum(1))]), pa.int32())
    table = pa.table(
        {
            "id": pa.array(row_ids, pa.uint64()),
            "neighbours": pa.ListArray.from_arrays(offsets, pa.array(neighbours.ids[exists].astype(np.uint64))),
            "scores": pa.ListArray.from_arrays(offsets, pa.array(neighbours.scores[exists])),
        }
    ).replace_schema_metadata({**metadata, "k": str(neighbours.ids.shape[1])})
    with atomic_writer(url) as stream:
        pq.write_table(table, stream, compression="zstd")


def read_neighbours(url: str) -> tuple[np.ndarray, Neighbours, dict[str, str]]:
    """Row ids, neighbours and metadata of a file that `write_neighbours` made."""
    with open_binary(url) as stream:
        try:
            table = pq.read_table(stream)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{url}: not a Parquet file, or a damaged one ({error})") from None
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    if "k" not in metadata or "neighbours" not in table.column_names:
        raise InputError(f"{url}: not a neighbour graph of ours (no column `neighbours` or no `k` in its metadata)")
    table = table.combine_chunks()
    result = Neighbours.none(table.num_rows, int(metadata["k"]))
    lists = table["neighbours"].combine_chunks()
    lengths = np.diff(lists.offsets.to_numpy())
    filled = np.arange(result.ids.shape[1]) < lengths[:, None]
    result.ids[filled] = lists.flatten().to_numpy().astype(np.int64)
    result.scores[filled] = table["scores"].combine_chunks().flatten().to_numpy()
    return table["id"].to_numpy(), result, metadata
