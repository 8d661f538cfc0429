"""Pair files: Parquet, TSV, JSONL, TMX and Moses, streamed in and out, visible only when complete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.files import atomic_text, atomic_texts, atomic_writer, iterate_lines, open_binary
from mining.pairs import REJECTED_SCHEMA, SCHEMA, conform, peek, rebatch
from mining.parquet_batches import valid_batches
from mining.paths import extension, split_compression
from mining.tmx import read_tmx, write_tmx

# Everything that some tool takes for the end of a line or a column.
_BREAKS = "[\t\n\r\x0b\x0c\x1c-\x1e\u0085\u2028\u2029]"


class Format(StrEnum):
    """How pairs are written; Moses is a prefix for two files, `prefix.de` and `prefix.en`."""

    PARQUET = "parquet"
    TSV = "tsv"
    JSONL = "jsonl"
    TMX = "tmx"
    MOSES = "moses"


def known_format(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        raise InputError(f"there is no pair format {name!r}; choose {', '.join(Format)}") from None


def format_of(url: str) -> Format:
    """The format that the extension names, whatever the compression behind it."""
    if (name := extension(url)) in set(Format) - {Format.MOSES}:
        return Format(name)
    raise InputError(
        f"{url}: the extension names no pair format; use .parquet, .tsv, .jsonl or .tmx (with .gz, .zst, .xz or .bz2 "
        "behind it if wanted). Moses, or another name, wants the format: --pair-format of mine and align, --out-format "
        "of clean, --format of mine-vectors and for what clean reads"
    )


def check_format(url: str, kind: Format, src_lang: str | None, tgt_lang: str | None) -> list[str]:
    """The files that `write_pairs` will write, or an error when it cannot."""
    if kind is Format.PARQUET and split_compression(url)[1]:
        raise InputError(f"{url}: Parquet is compressed inside; leave out the extension behind .parquet")
    if kind is Format.MOSES:
        return list(moses_urls(url, *_both_languages(url, kind, src_lang, tgt_lang)))
    if kind is Format.TMX:
        _both_languages(url, kind, src_lang, tgt_lang)
    return [url]


def write_pairs(
    url: str,
    batches: Iterable[pa.RecordBatch | pa.Table],
    *,
    format: Format | None = None,
    src_lang: str | None = None,
    tgt_lang: str | None = None,
) -> int:
    """Write pairs in the order given (best first) and return how many; memory is one batch.

    TMX and Moses need both languages. Rejected pairs (with a `reason` column) can be written in every format but Moses.
    """
    kind = format or format_of(url)
    check_format(url, kind, src_lang, tgt_lang)
    tables = map(conform, batches)
    if kind is Format.PARQUET:
        return _write_parquet(url, tables)
    if kind is Format.MOSES:
        return _write_moses(url, tables, *_both_languages(url, kind, src_lang, tgt_lang))
    if kind is Format.TMX:
        languages = _both_languages(url, kind, src_lang, tgt_lang)
        with atomic_text(url) as stream:
            return write_tmx(stream, tables, *languages)
    with atomic_text(url) as stream:
        return (_write_tsv if kind is Format.TSV else _write_jsonl)(stream, tables)


def read_pairs(
    url: str, *, format: Format | None = None, src_lang: str | None = None, tgt_lang: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Record batches under the pairs schema; what the format does not carry is null."""
    kind = format or format_of(url)
    if kind is Format.TSV:
        yield from _read_tsv(url)
    elif kind is Format.JSONL:
        yield from _read_jsonl(url)
    elif kind is Format.MOSES:
        yield from _read_moses(url, *_both_languages(url, kind, src_lang, tgt_lang))
    elif kind is Format.TMX:
        yield from read_tmx(url, src_lang, tgt_lang)
    else:
        yield from _read_parquet(url)


def moses_urls(prefix: str, src_lang: str, tgt_lang: str) -> tuple[str, str]:
    """The two files of a Moses pair; a compression extension stays at the end: `out.gz` is `out.de.gz`, `out.en.gz`."""
    stem, compression = split_compression(prefix)
    return f"{stem}.{src_lang}{compression}", f"{stem}.{tgt_lang}{compression}"


def _both_languages(url: str, kind: Format, src_lang: str | None, tgt_lang: str | None) -> tuple[str, str]:
    if not src_lang or not tgt_lang:
        raise InputError(f"{url}: the format {kind} needs the languages of both sides (--src-lang and --tgt-lang)")
    if src_lang == tgt_lang and kind is Format.MOSES:
        raise InputError(f"{url}: a Moses pair needs two different languages, not {src_lang} twice")
    return src_lang, tgt_lang


def _write_parquet(url: str, tables: Iterator[pa.Table]) -> int:
    count = 0
    first, tables = peek(tables)
    schema = SCHEMA if first is None else first.schema
    with atomic_writer(url) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
            count += table.num_rows
    return count


def _read_parquet(url: str) -> Iterator[pa.RecordBatch]:
    try:
        with open_binary(url) as stream:
            for batch in valid_batches(pq.ParquetFile(stream)):
                yield from conform(batch).to_batches()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{url}: cannot be read ({error})") from None


def _write_tsv(stream: IO[str], tables: Iterable[pa.Table]) -> int:
    count = 0
    for table in tables:
        stream.writelines(f"{line}\n" for line in tsv_lines(table))
        count += table.num_rows
    return count


def tsv_lines(table: pa.Table) -> list[str]:
    """Conformed pairs as lines: the score, both texts, and the reason where there is one."""
    columns = [_shortest(table["score"]), _one_line(table["src_text"]), _one_line(table["tgt_text"])]
    if "reason" in table.column_names:
        columns.append(_one_line(table["reason"]))
    lines: list[str] = pc.binary_join_element_wise(
        *columns, "\t", null_handling="replace", null_replacement=""
    ).to_pylist()
    return lines


def _read_tsv(url: str) -> Iterator[pa.RecordBatch]:
    first, lines = peek(iterate_lines(url))
    schema = REJECTED_SCHEMA if first is not None and first.count("\t") == 3 else SCHEMA
    yield from rebatch((_tsv_row(url, *line) for line in enumerate(lines, 1)), schema)


def _tsv_row(url: str, number: int, line: str) -> dict[str, object]:
    fields = line.split("\t")
    if len(fields) not in (3, 4):
        raise InputError(f"{url}, line {number}: {len(fields)} columns where score, source and target are needed")
    try:
        score = float(fields[0]) if fields[0] else None
    except ValueError:
        raise InputError(f"{url}, line {number}: the score {fields[0][:40]!r} is not a number") from None
    row: dict[str, object] = {"score": score, "src_text": fields[1], "tgt_text": fields[2]}
    return row | {"reason": fields[3]} if len(fields) == 4 else row


def _write_jsonl(stream: IO[str], tables: Iterable[pa.Table]) -> int:
    count = 0
    for table in tables:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in json_rows(table))
        count += table.num_rows
    return count


def json_rows(table: pa.Table) -> Iterator[dict[str, object]]:
    """Conformed pairs as objects, without what is null."""
    for name in ("score", "cosine"):
        shortest = _shortest(table[name]).cast(pa.float64())
        table = table.set_column(table.schema.get_field_index(name), name, shortest)
    for row in table.to_pylist():
        yield {name: value for name, value in row.items() if value is not None}


def _read_jsonl(url: str) -> Iterator[pa.RecordBatch]:
    first, rows = peek(_json_row(url, *line) for line in enumerate(iterate_lines(url), 1))
    schema = REJECTED_SCHEMA if first is not None and "reason" in first else SCHEMA
    try:
        yield from rebatch(rows, schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InputError(f"{url}: a value does not fit the pairs schema ({error})") from None


def _json_row(url: str, number: int, line: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{url}, line {number}: not JSON ({error})") from None
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("src_text", "tgt_text")):
        raise InputError(f"{url}, line {number}: an object with the texts src_text and tgt_text is needed")
    return row


def _write_moses(prefix: str, tables: Iterable[pa.Table], src_lang: str, tgt_lang: str) -> int:
    count = 0
    with atomic_texts(list(moses_urls(prefix, src_lang, tgt_lang))) as streams:
        for table in tables:
            if "reason" in table.column_names:
                raise InputError(f"{prefix}: Moses files have no place for a reason; write rejected pairs as TSV")
            for stream, name in zip(streams, ("src_text", "tgt_text"), strict=True):
                stream.writelines(f"{line}\n" for line in _one_line(table[name]).to_pylist())
            count += table.num_rows
    return count


def _read_moses(prefix: str, src_lang: str, tgt_lang: str) -> Iterator[pa.RecordBatch]:
    source, target = moses_urls(prefix, src_lang, tgt_lang)
    rows = _aligned_lines(source, target)
    yield from rebatch(({"src_text": src, "tgt_text": tgt} for src, tgt in rows), SCHEMA)


def _aligned_lines(source: str, target: str) -> Iterator[tuple[str, str]]:
    try:
        yield from zip(iterate_lines(source), iterate_lines(target), strict=True)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{source} and {target} differ in their number of lines; they are not one pair") from None


def _one_line(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(column, _BREAKS, " ")


def _shortest(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as the shortest text that reads back as the same float32."""
    return column.cast(pa.string())
