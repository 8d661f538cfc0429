"""Datasets of the pipeline: sentences, vectors, graph and pairs."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.parquet_batches import valid_batches
from mining.paths import open_url
from mining.vectors import open_vectors
from pipelines.datasets.manifest import (
    MANIFEST,
    SCHEMA_VERSION,
    WORK,
    Dataset,
    Manifest,
    Request,
    flat,
    join,
    read_model,
)
from pipelines.datasets.measure_rows import measure_rows
from pipelines.inspection.description import Description, counted, first_rows

_KINDS = {
    "sentences": "sentences dataset",
    "vectors": "vectors dataset",
    "graph": "neighbour graph dataset",
    "pairs": "pairs dataset",
}


def describe_dataset(url: str, most: int) -> Description:
    """A complete dataset."""
    manifest = read_model(join(url, MANIFEST), Manifest)
    assert manifest is not None
    if manifest.schema_version != SCHEMA_VERSION:
        raise InputError(f"{url}: schema version {manifest.schema_version}, this program reads {SCHEMA_VERSION}")
    dataset = Dataset(url, manifest)
    facts = [
        ("rows", counted(dataset.rows)),
        ("shards", counted(len(dataset.shards))),
        ("fingerprint", dataset.fingerprint),
        ("rows in", counted(manifest.counters.rows_in)),
        *(
            (f"dropped: {reason.replace('_', ' ')}", counted(rows))
            for reason, rows in manifest.counters.dropped.items()
        ),
        *measure_rows(manifest.measures),
        *_request(manifest.request),
    ]
    return Description(_KINDS[manifest.request.kind], facts, *first_rows(_head(dataset, most), most))


def describe_unfinished(url: str) -> Description:
    """A dataset in the making, or one that was interrupted."""
    request = read_model(join(url, WORK, "request.json"), Request)
    assert request is not None
    facts = [("state", "unfinished: run the command that makes it again"), *_request(request)]
    return Description(_KINDS[request.kind], facts)


def _request(request: Request) -> Iterator[tuple[str, str]]:
    for given in request.inputs:
        yield f"input: {given.role}", f"{given.name} ({given.fingerprint})"
    for name, version in request.versions.items():
        yield f"version of {name}", version
    for key, value in flat(request.configuration).items():
        if value is not None:
            yield key, str(value)


def _head(dataset: Dataset, most: int) -> pa.Table:
    if not dataset.shards:
        return pa.table({})
    url = dataset.shard_url(dataset.shards[0])
    if dataset.manifest.request.kind == "vectors":
        vectors = open_vectors(url).rows(0, most)
        return pa.table({"id": vectors.ids, "vector": [row.tolist() for row in vectors.stored]})
    try:
        with open_url(url) as stream:
            first = next(valid_batches(pq.ParquetFile(stream), batch_size=max(most, 1)), None)
            return pa.table({}) if first is None else pa.Table.from_batches([first])
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{url}: the shard is missing or damaged ({error}); make the dataset again") from None
