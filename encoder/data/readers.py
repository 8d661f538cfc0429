"""Readers of parallel text: each yields groups of translations, or what was wrong with a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import IO, Any, NamedTuple, cast

import fsspec

from encoder.data.corpora import CorpusFile, Format
from encoder.languages import canonical
from mining.errors import InputError

_READ_ERRORS = (EOFError, OSError, ValueError, RuntimeError)
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class Group(NamedTuple):
    """Sentences that translate each other; a single one in monolingual text."""

    langs: tuple[str, ...]
    texts: tuple[str, ...]


class Triple(NamedTuple):
    """A sentence, one that follows from it and one that contradicts it, each in some languages."""

    anchor: Group
    positive: Group
    negative: Group


class Malformed(NamedTuple):
    """A line (or unit) that cannot be used, and why."""

    line: int
    reason: str


Row = Group | Triple | Malformed


def read_groups(file: CorpusFile) -> Iterator[Row]:
    """Stream a corpus file; only what makes the rest of it worthless is an error."""
    return _READERS[file.format](file)


@contextmanager
def open_stream(path: str) -> Iterator[IO[bytes]]:
    try:
        # Kept until the end: a file inside an archive (zip://...::...) is closed with what opened it.
        opened = fsspec.open(path, "rb", compression="infer")
        stream = opened.open()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    with stream:
        yield cast(IO[bytes], stream)


def iterate_lines(path: str) -> Iterator[str | None]:
    """Lines without their ends, None for one that is not UTF-8; a truncated archive names its last good line."""
    number = 0
    try:
        with open_stream(path) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    yield None
                else:
                    yield text
    except InputError:
        raise
    except _READ_ERRORS as error:
        raise InputError(f"{path}: cannot be read after line {number} ({error})") from None


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
    for number, line in enumerate(iterate_lines(file.name), 1):
        if line is None:
            yield Malformed(number, "not valid UTF-8")
            continue
        cells = line.split("\t")
        if len(cells) <= max(first, second) or (file.columns is None and len(cells) != 2):
            yield Malformed(number, f"{len(cells)} columns instead of {max(first, second) + 1}")
        else:
            yield _pair(langs, cells[first], cells[second], number)


def _read_jsonl(file: CorpusFile) -> Iterator[Row]:
    for number, line in enumerate(iterate_lines(file.name), 1):
        try:
            entry = json.loads(line) if line is not None else None
        except json.JSONDecodeError:
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
    for number, line in enumerate(iterate_lines(file.name), 1):
        if line is None:
            yield Malformed(number, "not valid UTF-8")
        elif not line.strip():
            yield Malformed(number, "empty line")
        else:
            yield Group(langs, (line.strip(),))


def _read_nway(file: CorpusFile) -> Iterator[Row]:
    """Tab-separated columns whose first line names their languages, as in the 15-way XNLI."""
    lines = iterate_lines(file.name)
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


def _read_nli(file: CorpusFile) -> Iterator[Row]:
    from encoder.data.nli import read_triples

    return read_triples(file)


def _read_nli_parallel(file: CorpusFile) -> Iterator[Row]:
    from encoder.data.nli import read_parallel_triples

    return read_parallel_triples(file)


def _read_nli_pairs(file: CorpusFile) -> Iterator[Row]:
    from encoder.data.nli import read_entailments

    return read_entailments(file)


def _read_parquet(file: CorpusFile) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    langs = cast(tuple[str, str], file.langs)
    columns = [str(name) for name in file.columns or ("src_text", "tgt_text")]
    number = 0
    try:
        with open_stream(file.name) as stream:
            table = pq.ParquetFile(stream)
            missing = [name for name in columns if name not in table.schema_arrow.names]
            if missing:
                names = ", ".join(table.schema_arrow.names)
                raise InputError(f"{file.name}: no column {missing[0]}; set `columns` to two of: {names}")
            for batch in table.iter_batches(columns=columns):
                for left, right in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
                    number += 1
                    yield _pair(langs, left, right, number)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name}: cannot be read as Parquet after row {number} ({error})") from None


def _read_moses(file: CorpusFile) -> Iterator[Row]:
    langs = cast(tuple[str, str], file.langs)
    end = object()
    sides = zip_longest(*(iterate_lines(path) for path in file.paths), fillvalue=end)
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
    try:
        import polib
    except ImportError:
        raise InputError(f"{file.name}: reading gettext needs polib; install twinlode[demo]") from None
    with open_stream(file.name) as stream:
        data = stream.read()
    try:
        catalogue = (polib.mofile if file.format == "mo" else polib.pofile)(_gettext_input(data, file.format))
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name}: not a gettext file ({error})") from None
    langs = cast(tuple[str, str], file.langs or ("en", _gettext_language(catalogue, file.name)))
    for entry in catalogue:
        line = getattr(entry, "linenum", None) or 0  # compiled catalogues have neither lines nor drafts
        if entry.obsolete or "fuzzy" in entry.flags:
            yield Malformed(line, "obsolete or fuzzy message")
        elif entry.msgid_plural:
            yield Malformed(line, "plural message")
        elif not entry.msgstr:
            yield Malformed(line, "untranslated message")
        else:
            yield _pair(langs, " ".join(entry.msgid.split()), " ".join(entry.msgstr.split()), line)


def _gettext_input(data: bytes, kind: Format) -> Any:
    return data if kind == "mo" else data.decode("utf-8-sig")


def _gettext_language(catalogue: Any, name: str) -> str:
    code = catalogue.metadata.get("Language", "")
    if not code:
        raise InputError(f"{name}: its header names no language; add `langs: [en, xx]` to the corpus")
    try:
        return canonical(code.partition("@")[0])
    except InputError as error:
        raise InputError(f"{name}: {error}; add `langs: [en, xx]` to the corpus") from None


def _read_tmx(file: CorpusFile) -> Iterator[Row]:
    """Translation units one by one, so that memory does not grow with the file."""
    from xml.etree import ElementTree

    unit = 0
    with open_stream(file.name) as stream:
        try:
            parent = None
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                kind = element.tag.rpartition("}")[2]
                if event == "start" and kind == "body":
                    parent = element
                elif event == "end" and kind == "tu":
                    unit += 1
                    yield _tmx_group(element, file.name, unit)
                    (element if parent is None else parent).clear()  # which would keep every unit, if emptied
        except ElementTree.ParseError as error:
            line, column = error.position
            raise InputError(f"{file.name}, line {line}, column {column}: not valid XML ({error})") from None


def _tmx_group(element: Any, name: str, unit: int) -> Row:
    texts: dict[str, str] = {}
    for variant in element.iter():
        if variant.tag.rpartition("}")[2] != "tuv":
            continue
        code = variant.get(_XML_LANG) or variant.get("lang") or ""
        segment = next((child for child in variant if child.tag.rpartition("}")[2] == "seg"), None)
        try:
            texts[canonical(code)] = " ".join("".join(segment.itertext()).split()) if segment is not None else ""
        except InputError as error:
            raise InputError(f"{name}, translation unit {unit}: {error}") from None
    return _group(texts, unit)


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
    "nli": _read_nli,
    "nli-pairs": _read_nli_pairs,
    "nli-parallel": _read_nli_parallel,
}
