"""Sentence shards: the Parquet schema that `prepare` writes and every later stage reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from encoder.tokens import Tokens
from mining.errors import InputError
from mining.files import atomic_writer
from mining.paths import open_url
from pipelines.datasets.contents import check_file
from pipelines.datasets.manifest import Dataset

ROW_GROUP = 16_384
_NAME = pa.dictionary(pa.int32(), pa.string())

# `id` is the dense rank of the sentence in (input file, line) order after deduplication: with `n` rows a shard, shard
# `i` holds the ids from `i * n` on, and the lower of two ids was read first.
SCHEMA = pa.schema(
    [
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("source", _NAME, nullable=False),
        pa.field("line", pa.int64(), nullable=False),
        pa.field("ref", pa.string()),
        pa.field("lang", _NAME, nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)
# Where documents are kept: the name of the document, and the place of the sentence among those of it that are kept.
DOCUMENT = pa.field("document", _NAME, nullable=False)
POSITION = pa.field("position", pa.int64(), nullable=False)
PIECES = pa.field("pieces", pa.list_(pa.int32()), nullable=False)
ALSO = pa.field("also", pa.list_(pa.int64()), nullable=False)  # further lines of the same text, where that is kept
UNKNOWN_LANGUAGE = "und"


def constant(value: str, rows: int) -> pa.DictionaryArray:
    """A column that says the same in every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


def pieces_column(tokens: Tokens) -> pa.ListArray:
    if len(tokens.ids) >= 2**31:
        raise InputError("a shard has over two thousand million subword pieces; make `rows_per_shard` smaller")
    return pa.ListArray.from_arrays(pa.array(tokens.offsets.astype(np.int32)), pa.array(tokens.ids.astype(np.int32)))


def column_of(sentences: Dataset, name: str, ids: np.ndarray) -> pa.Array:
    """A column of the sentences with these ids, in their order, one shard in memory at a time."""
    parts, places = [], []
    first = 0
    for shard in sentences.shards:
        inside = np.flatnonzero((ids >= first) & (ids < first + shard.rows))
        if len(inside):
            column = read_shard(sentences.shard_url(shard), [name])[name]
            parts += column.take(pa.array(ids[inside] - first)).chunks
            places.append(inside)
        first += shard.rows
    kind = SCHEMA.append(PIECES).field(name).type
    order = np.argsort(np.concatenate([np.zeros(0, np.int64), *places]))
    return pa.chunked_array(parts, kind).combine_chunks().take(pa.array(order))


def tokens_of(table: pa.Table) -> Tokens:
    """The `pieces` of a table as the encoder's ragged batch, without a copy of the ids."""
    column = table.column("pieces").combine_chunks()
    offsets = column.offsets.to_numpy()
    ids = column.values.to_numpy()
    return Tokens(ids[offsets[0] : offsets[-1]], (offsets - offsets[0]).astype(np.int64))


def write_shard(url: str, table: pa.Table) -> str:
    """Write a whole shard, or nothing; returns the digest of its text and pieces."""
    with atomic_writer(url) as stream:
        pq.write_table(table.unify_dictionaries(), stream, compression="zstd", row_group_size=ROW_GROUP)
    digest = xxhash.xxh3_64()
    texts = table.column("text")
    for first in range(0, len(texts), ROW_GROUP):  # of a whole shard the Python strings would take most of the memory
        digest.update(("\n" * bool(first) + "\n".join(texts[first : first + ROW_GROUP].to_pylist())).encode())
    if "pieces" in table.column_names:
        tokens = tokens_of(table)
        digest.update(tokens.offsets.tobytes() + tokens.ids.tobytes())
    pa.default_memory_pool().release_unused()
    return digest.hexdigest()


def read_shard(url: str, columns: Sequence[str] | None = None, checksum: str = "") -> pa.Table:
    """A sentence shard, or those of the columns that it has; with a checksum, only the very file that was written."""
    check_file(url, checksum)
    try:
        with open_url(url) as stream:
            return pq.ParquetFile(stream).read(None if columns is None else list(columns))
    except FileNotFoundError:
        raise InputError(f"{url}: the shard is missing; make the dataset again") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{url}: the shard cannot be read ({error}); make the dataset again") from None
