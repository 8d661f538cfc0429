"""Single files: pairs in every format, vectors, and the Parquet shards of datasets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.neighbours import read_neighbours
from mining.pair_formats import Format, format_of, read_pairs
from mining.pairs import REJECTED_SCHEMA
from mining.parquet_batches import valid_batches
from mining.paths import open_url, resolve
from mining.vectors import open_vectors
from pipelines.inspection.description import Description, counted, first_rows

_TEXTS = ("src_text", "tgt_text")
_VECTORS = (".arrow", ".feather", ".ipc", ".npy")


def describe_file(url: str, most: int) -> Description:
    """A file by what is in it; one that is none of ours is refused."""
    if url.endswith(_VECTORS):
        return _vectors(url, most)
    try:
        kind = format_of(url)
    except InputError:
        raise InputError(
            f"{url}: not a file of twinlode; pairs (.parquet, .tsv, .jsonl, .tmx, compressed or not) and vectors "
            "(.arrow, .npy) can be inspected"
        ) from None
    if kind is Format.PARQUET:
        return _parquet(url, most)
    return _pairs(url, kind, most)


def describe_moses(prefix: str, languages: tuple[str, str], most: int) -> Description:
    """Two aligned files; their names do not tell which side is the source, so columns are named by language."""
    found = _pairs(prefix, Format.MOSES, most, languages)
    columns = [dict(zip(_TEXTS, languages, strict=True)).get(name, name) for name in found.columns]
    facts = [*found.facts, ("files", ", ".join(f"{prefix}.{lang}" for lang in languages))]
    return found._replace(facts=facts, columns=columns)


def moses_languages(prefix: str) -> tuple[str, str] | None:
    """The endings of the two files that begin with a prefix, if there are just two that can be of languages.

    Folders beside them, such as that of `align`, and other files of pairs do not count.
    """
    filesystem, path = resolve(prefix)
    found = {file.removeprefix(f"{path}."): file for file in filesystem.glob(f"{path}.*")}
    endings = sorted(
        end for end, file in found.items() if end.isalpha() and end not in set(Format) and filesystem.isfile(file)
    )
    return (endings[0], endings[1]) if len(endings) == 2 else None


def _vectors(url: str, most: int) -> Description:
    vectors = open_vectors(url)
    facts = [
        ("rows", counted(len(vectors))),
        ("dim", counted(vectors.dim)),
        ("type", vectors.stored.dtype.name),
        *((key, value) for key, value in vectors.metadata.items() if key not in ("rows", "dim", "dtype")),
    ]
    head = vectors.rows(0, most)
    table = pa.table({"id": head.ids, "vector": [row.tolist() for row in head.stored]})
    return Description("vectors", facts, *first_rows(table, most))


def _parquet(url: str, most: int) -> Description:
    try:
        with open_url(url) as stream:
            file = pq.ParquetFile(stream)
            names, rows = file.schema_arrow.names, file.metadata.num_rows
            first = next(valid_batches(file, batch_size=max(most, 1)), None)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{url}: not a Parquet file, or a damaged one ({error})") from None
    table = pa.table({}) if first is None else pa.Table.from_batches([first])
    facts = [("rows", counted(rows)), ("columns", ", ".join(names))]
    if "neighbours" in names:
        about = read_neighbours(url)[2]
        return Description("neighbours of one direction", [*facts, *about.items()], *first_rows(table, most))
    if "text" in names and "lang" in names:
        return Description("shard of a sentences dataset", facts, *first_rows(table, most))
    if {"src_text", "tgt_text"} <= set(names) <= set(REJECTED_SCHEMA.names):
        what = "rejected pairs" if "reason" in names else "pairs"
        return Description(f"{what} (parquet)", facts, *first_rows(table, most))
    raise InputError(f"{url}: a Parquet file with the columns {', '.join(names)}, which is none of twinlode's")


def _pairs(url: str, kind: Format, most: int, languages: tuple[str | None, str | None] = (None, None)) -> Description:
    head: list[pa.RecordBatch] = []
    rows, rejected = 0, False
    for batch in read_pairs(url, format=kind, src_lang=languages[0], tgt_lang=languages[1]):
        rows += len(batch)
        rejected |= "reason" in batch.schema.names
        head = head or [batch.slice(0, most)]
    table = pa.Table.from_batches(head) if head else pa.table({})
    what = f"{'rejected pairs' if rejected else 'pairs'} ({kind})"
    return Description(what, [("rows", counted(rows))], *first_rows(table, most))
