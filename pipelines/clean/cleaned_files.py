"""What cleaning writes: the rows that stay, as they stood, and the others with their reason."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mining.errors import InputError
from mining.files import atomic_text, atomic_writer
from mining.pair_formats import Format, check_format, format_of, json_rows, tsv_lines, write_pairs
from mining.pairs import conform, peek
from mining.tmx import pair_units, write_units
from pipelines.clean.bitext_chunks import OWN
from pipelines.clean.bitext_rows import BitextSettings

SCORES = ("probability", "cosine", "margin")  # that a row gets on request
_LINES = (Format.TSV, Format.JSONL)
_WRITTEN = 4096  # lines at a time


def check_outputs(
    out: str, rejected: str | None, format: Format | None, bitext: BitextSettings, *, scores: bool = False
) -> list[str]:
    """The files that will be written; what cannot be is refused before hours of work, not after."""
    kind = format or format_of(out)
    written = check_format(out, kind, bitext.src_lang, bitext.tgt_lang)
    if scores and kind == Format.MOSES:
        raise InputError(f"{out}: Moses files have no place for scores; leave out --scores, or write another format")
    if rejected is not None and format_of(rejected) not in _LINES:
        raise InputError(f"{rejected}: rejected rows are written as .tsv or .jsonl")
    return [*written, *([rejected] if rejected is not None else [])]


def write_kept(
    url: str, tables: Iterable[pa.Table], bitext: BitextSettings, *, format: Format | None = None, scores: bool = False
) -> int:
    """The rows without a reason: as they stood where the format stays the same, else both texts and the score.

    With `scores`, in any format but Moses, these `SCORES` beside them.
    """
    kind = format or format_of(url)
    if kind == bitext.kind and kind in _LINES:
        return _write_lines(url, (line for table in _kept(tables) for line in _lines(table, kind, scores)))
    if kind == bitext.kind == Format.TMX:
        with atomic_text(url) as stream:
            units = (_unit(row, scores) for row in _rows(_kept(tables)))
            return write_units(stream, units, bitext.src_lang or "*all*")
    if kind == bitext.kind == Format.PARQUET:
        return _write_parquet(url, (_own(table, scores) for table in _kept(tables)))
    if scores:
        return _write_scored_pairs(url, _kept(tables), kind, bitext)
    return write_pairs(url, kept_pairs(tables), format=kind, src_lang=bitext.src_lang, tgt_lang=bitext.tgt_lang)


def _write_scored_pairs(url: str, tables: Iterator[pa.Table], kind: Format, bitext: BitextSettings) -> int:
    """Both texts with `SCORES`, in another format than that of the bitext."""
    pairs = ((conform(_as_pairs(table)), table) for table in tables)
    if kind == Format.PARQUET:
        return _write_parquet(url, (_append_scores(own, table) for own, table in pairs))
    if kind == Format.TMX:
        languages = bitext.src_lang or "", bitext.tgt_lang or ""
        check_format(url, kind, *languages)
        with atomic_text(url) as stream:
            return write_units(stream, _scored_units(pairs, languages), languages[0])
    return _write_lines(url, (line for own, table in pairs for line in _scored_lines(own, table, kind)))


def _scored_lines(pairs: pa.Table, table: pa.Table, kind: Format) -> Iterable[str]:
    rows = map(_scores, table.select(SCORES).to_pylist())
    if kind == Format.TSV:
        return ("\t".join([line, *map(str, own.values())]) for line, own in zip(tsv_lines(pairs), rows, strict=True))
    return (_as_json(pair | own) for pair, own in zip(json_rows(pairs), rows, strict=True))


def _scored_units(pairs: Iterator[tuple[pa.Table, pa.Table]], languages: tuple[str, str]) -> Iterator[str]:
    for own, table in pairs:
        units = pair_units([own.drop_columns("cosine")], *languages)  # it is one of the scores
        for unit, row in zip(units, table.select(SCORES).to_pylist(), strict=True):
            yield _unit({"record": unit, **row}, scores=True)


def kept_pairs(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows without a reason, under the names of pairs."""
    return map(_as_pairs, _kept(tables))


def _kept(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    return (table.filter(pc.is_null(table["reason"])) for table in tables)


def write_rejected(url: str, tables: Iterable[pa.Table], explain: bool = False) -> int:
    """The other rows: reason, line, why if asked for, and the row as it stood (TSV), or these as fields (JSONL)."""
    rejected = (table.filter(pc.is_valid(table["reason"])) for table in tables)
    if not explain:
        rejected = (table.select([name for name in table.column_names if name != "why"]) for table in rejected)
    if format_of(url) == Format.JSONL:
        return _write_lines(url, (_as_json(_present(row)) for row in _rows(rejected)))
    return _write_lines(url, map(_rejected_line, _rows(rejected)))


def _rows(tables: Iterable[pa.Table]) -> Iterator[dict]:
    for table in tables:
        yield from table.to_pylist()


def _lines(table: pa.Table, kind: Format, scores: bool) -> Iterable[str]:
    """The rows as they stood."""
    if not scores:
        return table["record"].to_pylist()
    rows = table.select(["record", *SCORES]).to_pylist()
    if kind == Format.TSV:
        return ("\t".join([row["record"], *map(str, _scores(row).values())]) for row in rows)
    return (_as_json(_with_scores(json.loads(row["record"]), _scores(row))) for row in rows)


def _with_scores(own: dict, scores: dict[str, float]) -> dict:
    return own | {_free_name(name, own): score for name, score in scores.items()}


def _free_name(name: str, taken: Container[str]) -> str:
    """The name of a score, or another where the bitext has a column of that name, which is kept."""
    while name in taken:
        name = f"clean_{name}"
    return name


def _as_json(row: dict) -> str:
    """With letters as they are, but for half a surrogate pair, which only JSON can write."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


def _unit(row: dict, scores: bool) -> str:
    """The XML of a translation unit; scores become its first properties."""
    if not scores:
        return str(row["record"])
    props = "".join(f'<prop type="{name}">{value}</prop>' for name, value in _scores(row).items())
    return str(row["record"]).replace(">", f">{props}", 1)


def _scores(row: dict) -> dict[str, float]:
    return {name: round(row[name], 4) for name in SCORES}


def _own(table: pa.Table, scores: bool) -> pa.Table:
    """The columns that the rows of a Parquet file came with."""
    rows = table[OWN].combine_chunks()
    own = pa.table(rows.flatten(), [field.name for field in rows.type])
    for name in SCORES if scores else ():
        own = own.append_column(_free_name(name, own.column_names), table[name])
    return own


def _append_scores(pairs: pa.Table, table: pa.Table) -> pa.Table:
    """Pairs with those of the `SCORES` that they lack."""
    for name in (name for name in SCORES if name not in pairs.column_names):
        pairs = pairs.append_column(name, table[name])
    return pairs


def _write_parquet(url: str, tables: Iterator[pa.Table]) -> int:
    first, tables = peek(tables)
    assert first is not None, "a bitext has at least one chunk"
    count = 0
    with atomic_writer(url) as stream, pq.ParquetWriter(stream, first.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
            count += len(table)
    return count


def _rejected_line(row: dict) -> str:
    why = [row["why"] or ""] if "why" in row else []
    return "\t".join([row["reason"], str(row["line"]), *why, _as_line(row)])


def _as_line(row: dict) -> str:
    if row["record"] is not None:
        return str(row["record"])
    return "\t".join(" ".join((row[name] or "").split()) for name in ("source", "target"))


def _present(row: dict) -> dict:
    return {name: value for name, value in row.items() if value is not None}


def _as_pairs(table: pa.Table) -> pa.Table:
    return pa.table(
        {
            "score": table["probability"],
            "cosine": table["cosine"],
            "src_text": table["source"],
            "tgt_text": table["target"],
            "src_line": table["line"],
            "tgt_line": table["line"],
        }
    )


def _write_lines(url: str, lines: Iterator[str]) -> int:
    count = 0
    with atomic_text(url) as stream:
        while block := list(islice(lines, _WRITTEN)):
            stream.write("\n".join([*block, ""]))
            count += len(block)
    return count
