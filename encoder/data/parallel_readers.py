"""Readers of parallel text: each yields groups of translations, or what was wrong with a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, cast

import pyarrow as pa

from encoder.data.corpora import CorpusFile, Format
from encoder.data.nli import read_entailments, read_parallel_triples, read_premises, read_triples
from encoder.data.parallel_rows import Group, Malformed, Row
from encoder.languages import canonical
from mining.catalogs import is_draft, one_line, read_catalog
from mining.errors import InputError
from mining.files import open_binary, readable_lines
from mining.parquet_batches import valid_batches
from mining.translation_units import iterate_units

TOKEN_COLUMNS = ("src_tokens", "tgt_tokens")
_TOKENIZER = b"tokenizer"


def read_groups(file: CorpusFile, tokenizer: str | None = None) -> Iterator[Row]:
    """Stream a corpus file; only what makes the rest of it worthless is an error.

    A Parquet file of pairs may hold the tokens of its texts, which are read where they are of this tokenizer.
    """
    return _read_parquet(file, tokenizer) if file.format == "parquet" else _READERS[file.format](file)


def _pair(langs: tuple[str, str], left: Any, right: Any, line: int) -> Row:
    if not isinstance(left, str) or not isinstance(right, str):
        return Malformed(line, "a side is not text")
    left, right = left.strip(), right.strip()
    if not left or not right:
        return Malformed(line, "empty side")
    return Group(langs, (left, right))


def _read_tsv(file: CorpusFile) -> Iterator[Row]:
    langs = cast(tuple[str, str], file.langs)
    first, second = cast(tuple[int, int], file.columns or (0, 1))
    if not isinstance(first, int) or not isinstance(second, int):
        raise InputError(f"{file.name}: `columns` of a TSV corpus are numbers, counted from 0")
    for number, line in enumerate(readable_lines(file.name), 1):
        if line is None:
            yield Malformed(number, "not valid UTF-8")
            continue
        cells = line.split("\t")
        if len(cells) <= max(first, second) or (file.columns is None and len(cells) != 2):
            yield Malformed(number, f"{len(cells)} columns instead of {max(first, second) + 1}")
        else:
            yield _pair(langs, cells[first], cells[second], number)


def _read_jsonl(file: CorpusFile) -> Iterator[Row]:
    for number, line in enumerate(readable_lines(file.name), 1):
        try:
            entry = json.loads(line) if line is not None else None
        except (ValueError, RecursionError):
            yield Malformed(number, "not valid JSON")
            continue
        if line is None or not isinstance(entry, dict):
            yield Malformed(number, "not valid UTF-8" if line is None else "not a JSON object")
            continue
        try:
            texts = {canonical(lang): text.strip() for lang, text in entry.items() if isinstance(text, str)}
        except InputError as error:
            raise InputError(f"{file.name}, line {number}: {error}") from None
        yield _group(texts, number)


def _group(texts: dict[str, str], line: int) -> Row:
    kept = {lang: text for lang, text in texts.items() if text}
    if len(kept) < 2:
        return Malformed(line, "fewer than two languages")
    return Group(tuple(kept), tuple(kept.values()))


def _read_text(file: CorpusFile) -> Iterator[Row]:
    langs = cast(tuple[str], file.langs)
    for number, line in enumerate(readable_lines(file.name), 1):
        if line is None:
            yield Malformed(number, "not valid UTF-8")
        elif not line.strip():
            yield Malformed(number, "empty line")
        else:
            yield Group(langs, (line.strip(),))


def _read_nway(file: CorpusFile) -> Iterator[Row]:
    """Tab-separated columns whose first line names their languages, as in the 15-way XNLI."""
    lines = readable_lines(file.name)
    try:
        langs = [canonical(code.strip()) for code in (next(lines, None) or "").split("\t")]
    except InputError as error:
        raise InputError(f"{file.name}, line 1: the columns must be named by their languages, but {error}") from None
    for number, line in enumerate(lines, 2):
        cells = line.split("\t") if line is not None else []
        if line is None:
            yield Malformed(number, "not valid UTF-8")
        elif len(cells) != len(langs):
            yield Malformed(number, f"{len(cells)} columns instead of {len(langs)}")
        else:
            yield _group({lang: cell.strip() for lang, cell in zip(langs, cells, strict=True)}, number)


def with_tokens(pairs: pa.Table, source: pa.Array, target: pa.Array, tokenizer: str) -> pa.Table:
    """Pairs with the tokens that a tokenizer makes of their texts, for `read_groups`."""
    for name, tokens in zip(TOKEN_COLUMNS, (source, target), strict=True):
        pairs = pairs.append_column(pa.field(name, tokens.type, metadata={_TOKENIZER: tokenizer}), tokens)
    return pairs


def _read_parquet(file: CorpusFile, tokenizer: str | None = None) -> Iterator[Row]:
    import pyarrow.parquet as pq

    langs = cast(tuple[str, str], file.langs)
    columns = [str(name) for name in file.columns or ("src_text", "tgt_text")]
    number = 0
    try:
        with open_binary(file.name) as stream:
            table = pq.ParquetFile(stream)
            missing = [name for name in columns if name not in table.schema_arrow.names]
            if missing:
                names = ", ".join(table.schema_arrow.names)
                raise InputError(f"{file.name}: no column {missing[0]}; set `columns` to two of: {names}")
            known = TOKEN_COLUMNS if file.columns is None and _tokens_by(table.schema_arrow, tokenizer) else ()
            for batch in valid_batches(table, columns=[*columns, *known]):
                for left, right, *tokens in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    row = _pair(langs, left, right, number)
                    if tokens and None not in tokens and isinstance(row, Group):
                        row = row._replace(tokens=tuple(tokens))
                    yield row
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name}: cannot be read as Parquet after row {number} ({error})") from None


def _tokens_by(schema: pa.Schema, tokenizer: str | None) -> bool:
    """Whether a file has tokens of its texts, made by this tokenizer."""
    if tokenizer is None or not set(TOKEN_COLUMNS) <= set(schema.names):
        return False
    made_by = [(schema.field(name).metadata or {}).get(_TOKENIZER) for name in TOKEN_COLUMNS]
    return made_by == [tokenizer.encode()] * len(TOKEN_COLUMNS)


def _read_moses(file: CorpusFile) -> Iterator[Row]:
    langs = cast(tuple[str, str], file.langs)
    end = object()
    sides = zip_longest(*(readable_lines(path) for path in file.paths), fillvalue=end)
    for number, (left, right) in enumerate(sides, 1):
        if left is end or right is end:
            shorter = file.paths[0] if left is end else file.paths[1]
            raise InputError(f"{shorter} ends before line {number}: the two files must have equally many lines")
        if left is None or right is None:
            yield Malformed(number, "not valid UTF-8")
        else:
            yield _pair(langs, left, right, number)


def _read_gettext(file: CorpusFile) -> Iterator[Row]:
    """Translated messages; fuzzy and obsolete ones are drafts, plurals have no single counterpart."""
    catalog = read_catalog(file.name)
    langs = cast(tuple[str, str], file.langs or ("en", _gettext_language(catalog, file.name)))
    for entry in catalog:
        line = getattr(entry, "linenum", None) or 0  # compiled catalogs have neither lines nor drafts
        if is_draft(entry):
            yield Malformed(line, "obsolete or fuzzy message")
        elif entry.msgid_plural:
            yield Malformed(line, "plural message")
        elif not entry.msgstr:
            yield Malformed(line, "untranslated message")
        else:
            yield _pair(langs, one_line(entry.msgid), one_line(entry.msgstr), line)


def _gettext_language(catalog: Any, name: str) -> str:
    code = catalog.metadata.get("Language", "")
    if not code:
        raise InputError(f"{name}: its header names no language; add `langs: [en, xx]` to the corpus")
    try:
        return canonical(code.partition("@")[0])
    except InputError as error:
        raise InputError(f"{name}: {error}; add `langs: [en, xx]` to the corpus") from None


def _read_tmx(file: CorpusFile) -> Iterator[Row]:
    for number, (_, variants) in enumerate(iterate_units(file.name), 1):
        try:
            texts = {canonical(variant.language): one_line(variant.text) for variant in variants}
        except InputError as error:
            raise InputError(f"{file.name}, translation unit {number}: {error}") from None
        yield _group(texts, number)


_READERS: dict[Format, Callable[[CorpusFile], Iterator[Row]]] = {
    "tsv": _read_tsv,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "moses": _read_moses,
    "po": _read_gettext,
    "mo": _read_gettext,
    "tmx": _read_tmx,
    "text": _read_text,
    "nway": _read_nway,
    "nli": read_triples,
    "nli-pairs": read_entailments,
    "nli-parallel": read_parallel_triples,
    "nli-premises": read_premises,
}
