"""Pages of the web: Common Crawl's WET (text) and WARC (HTTP responses), and HTML files; the URL is kept as `ref`."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import urljoin

import numpy as np

from mining.decompression import Damaged
from mining.errors import InputError
from mining.files import LONGEST, open_decompressed, read_whole
from pipelines.prepare.readers.blocks import (
    BAD_UTF8,
    EMPTY,
    NOT_A_PAGE,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY_ATTRIBUTES,
    TRUNCATED,
    Block,
    ReadSettings,
    RowBatch,
)
from pipelines.prepare.readers.splitting import split_sentences
from pipelines.prepare.readers.streams import damage_error, read_some

BATCH_SENTENCES = 8192
_HTML = {"text/html", "application/xhtml+xml"}
# Where browsers stop, too; finding the main text takes time in proportion to the square of the depth.
DEEPEST = 512
_LINK = re.compile(r"<link\b[^>]*\bhreflang\b[^>]*>", re.IGNORECASE)
_BLANK = re.compile(r"\n\s*\n")  # between paragraphs, as main text is extracted
_ATTRIBUTE = re.compile(r"""\b(hreflang|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
# The parser compares every attribute of a tag with all before it.
MOST_ATTRIBUTES = 1000
_VALUE = r"""\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+)"""
_MANY_ATTRIBUTES = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:[\s/]*+[^\s/>][^\s/>=]*+(?:{_VALUE})?+){{{MOST_ATTRIBUTES + 1}}}")
_SELF_CLOSING = re.compile(
    "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|html|head|body|p|li|dt|dd|rb|rt|rtc|rp|"
    "optgroup|option|thead|tbody|tfoot|tr|td|th|colgroup|caption",
    re.IGNORECASE,
)


class Page(NamedTuple):
    """One document, or the reason why there is none."""

    url: str
    text: str | None
    reason: str = ""
    alternates: dict[str, str] | None = None  # language: URL


def read_wet(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """Sentences of each conversion record; `line` is the number of the record in the file."""
    return _batches(_records(block, settings, "conversion", _wet_page), settings)


def read_warc(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """Sentences of the main text of each HTML response; `line` is the number of the record in the file."""
    return _batches(_records(block, settings, "response", _warc_page), settings)


def read_html(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """Sentences of the main text of one HTML file; `ref` is the file."""

    def page() -> Iterator[Page]:
        try:
            body = read_whole(block.url)
        except Damaged as error:
            raise InputError(f"{block.url}: cannot be read ({error}); fetch the file again") from None
        yield _html_page(block.url, body, None)

    return _batches(page(), settings)


def _batches(pages: Iterator[Page], settings: ReadSettings) -> Iterator[RowBatch]:
    texts: list[str] = []
    refs: list[str] = []
    lines: list[int] = []
    paragraphs: list[int] = []
    dropped: Counter[str] = Counter()
    alternates: dict[str, dict[str, str]] = {}
    number = 0

    def batch() -> RowBatch:
        numbers = np.asarray(lines, np.int64), np.asarray(paragraphs, np.int64)
        return RowBatch(texts, numbers[0], refs, +dropped, number, alternates, numbers[1])

    for number, page in enumerate(pages, 1):
        split = [split_sentences(part, settings.lang) for part in _BLANK.split(page.text or "")]
        sentences = [(place, sentence) for place, part in enumerate(split) for sentence in part]
        kept = [(place, sentence) for place, sentence in sentences if len(sentence) <= settings.max_chars]
        dropped[TOO_LONG] += len(sentences) - len(kept)
        dropped[page.reason or EMPTY] += not sentences
        texts += [sentence for _, sentence in kept]
        paragraphs += [place for place, _ in kept]
        refs += [page.url] * len(kept)
        lines += [number] * len(kept)
        if page.alternates and kept:
            alternates[page.url] = page.alternates
        if len(texts) >= BATCH_SENTENCES:
            yield batch()
            texts, refs, lines, paragraphs, dropped, alternates = [], [], [], [], Counter(), {}
    yield batch()


def _wet_page(record: Any, url: str, body: bytes) -> Page:
    try:
        return Page(url, body.decode("utf-8"))
    except UnicodeDecodeError:
        return Page(url, None, BAD_UTF8)


def _warc_page(record: Any, url: str, body: bytes) -> Page:
    if (record.http_content_type or "").lower() not in _HTML:
        return Page(url, None, NOT_A_PAGE)
    return _html_page(url, body, record.http_charset)


def _known(charset: str | None) -> str | None:
    """A character set that a page or its header names, where there is such a one."""
    try:
        found = codecs.lookup(charset or "")
    except (LookupError, ValueError):
        return None
    return found.name if found._is_text_encoding else None


def _html_page(url: str, body: bytes, charset: str | None) -> Page:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    named = _known(charset) or _known(detect_encoding(body, from_html_meta=True))
    html = bytes_to_str(body, named or detect_encoding(body))
    if _depth(html) > DEEPEST:
        return Page(url, None, TOO_DEEP)
    if _MANY_ATTRIBUTES.search(html):
        return Page(url, None, TOO_MANY_ATTRIBUTES)
    text = extract_plain_text(html, main_content=True, list_bullets=False, links=False, alt_texts=False)
    return Page(url, text, alternates=_alternates(url, html))


def _alternates(url: str, html: str) -> dict[str, str] | None:
    """The same page in other languages, as its `<link hreflang>` say; the country of a language is left out."""
    found: dict[str, str] = {}
    for link in _LINK.findall(html):
        values = {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(link)}
        lang = values.get("hreflang", "").lower().split("-")[0]
        if lang and values.get("href"):
            found.setdefault(lang, urljoin(url, values["href"]))
    return found or None


def _depth(html: str) -> int:
    """How deep elements are nested, at most; those that HTML closes by itself are not counted."""
    if html.count("<") <= DEEPEST:
        return 0
    depth = deepest = 0
    for end, name in _TAG.findall(html):
        if not _SELF_CLOSING.fullmatch(name):
            depth = max(depth - 1, 0) if end else depth + 1
            deepest = max(deepest, depth)
    return deepest


class _Source:
    """A stream as fastwarc wants it (`tell`), which remembers damage that fastwarc would take for the end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._position = 0
        self.damage: Damaged | None = None

    def read(self, size: int = 1 << 16) -> bytes:
        try:
            data = read_some(self._stream, size)
        except Damaged as error:
            self.damage = error
            return b""
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position


def _records(block: Block, settings: ReadSettings, kind: str, page: Any) -> Iterator[Page]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    number = 0
    with open_decompressed(block.url) as stream:
        source = _Source(stream)
        try:
            records = ArchiveIterator(cast(BinaryIO, source), record_types=getattr(WarcRecordType, kind))
            for number, record in enumerate(records, 1):  # noqa: B007 - the error below names it
                length, body = record.content_length, record.reader.read(LONGEST)
                if length > len(body) == LONGEST:
                    yield Page(record.headers.get("WARC-Target-URI") or "", None, TOO_LONG)
                    continue
                if len(body) < length:
                    source.damage = source.damage or Damaged("the last record is cut off")
                    break
                yield page(record, record.headers.get("WARC-Target-URI") or "", body)
        except OSError as error:
            source.damage = source.damage or Damaged(str(error))
        if source.damage is None:
            return
        if settings.truncated == "stop":
            raise damage_error(block.url, f"record {number}", source.damage)
        yield Page("", None, TRUNCATED)
