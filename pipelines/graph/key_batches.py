"""Vectors on their way to keys as Arrow record batches, which the engine's shuffle carries as bytes."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa
from apache_beam import coders

from pipelines.graph.graph_shards import Direction
from pipelines.graph.partition import KeyRows
from pipelines.graph.partition_plan import Item
from pipelines.graph.vector_sides import VectorShard

_ABOUT = ("side", "number", "url", "rows", "checksum")  # of the shard, in the metadata of the schema


class KeyRowsCoder(coders.Coder):
    """`KeyRows` as an Arrow stream of one batch; the arrays that are decoded are views of its bytes."""

    def encode(self, value: KeyRows) -> bytes:
        columns = [_column(array) for array in value[1:]]
        about = map(str, (value.item.side, *value.item.shard))
        batch = pa.record_batch(columns, names=list(KeyRows._fields[1:]))
        batch = batch.replace_schema_metadata(dict(zip(_ABOUT, about, strict=True)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return cast(bytes, sink.getvalue().to_pybytes())

    def decode(self, encoded: bytes) -> KeyRows:
        batch = pa.ipc.open_stream(pa.py_buffer(encoded)).read_next_batch()
        side, number, url, rows, checksum = (batch.schema.metadata[name.encode()].decode() for name in _ABOUT)
        item = Item(cast(Direction, side), VectorShard(int(number), url, int(rows), checksum))
        return KeyRows(item, *(_array(column) for column in batch.columns))

    def is_deterministic(self) -> bool:
        return True


def _column(array: np.ndarray) -> pa.Array:
    """An array of two dimensions is one of lists of the same size."""
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    return flat if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, array.shape[1])


def _array(column: pa.Array) -> np.ndarray:
    kind, data = column.type, column.buffers()[-1]
    if not pa.types.is_fixed_size_list(kind):
        return np.frombuffer(data, kind.to_pandas_dtype(), len(column))
    shape = len(column), kind.list_size
    return np.frombuffer(data, kind.value_type.to_pandas_dtype(), shape[0] * shape[1]).reshape(shape)
