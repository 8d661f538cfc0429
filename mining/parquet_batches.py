"""Batches of a Parquet file that may be damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def valid_batches(file: pq.ParquetFile, **options: Any) -> Iterator[pa.RecordBatch]:
    """`ParquetFile.iter_batches`, each batch checked: a flipped bit may leave text that is not UTF-8."""
    for batch in file.iter_batches(**options):
        batch.validate(full=True)
        yield batch
