"""Common Crawl archives and HTML pages: sentences with the URL they came from."""

import gzip
from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.readers.splitting import split_sentences
from tests.pipelines.prepare.readers.test_readers import SETTINGS, read, write

PAGE = (
    "<html><head><title>t</title></head><body><nav><a href='/'>Menu</a></nav>"
    "<main><p>Hello there. Was it {}?</p></main></body></html>"
)


def record(kind: str, url: str, body: bytes, content: str = "text/plain") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Record-ID: <urn:uuid:{url}>\r\n"
    head += f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"


def response(url: str, body: bytes, kind: str = "text/html; charset=utf-8") -> bytes:
    http = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
    return record("response", url, http, "application/http; msgtype=response")


WET = [
    record("warcinfo", "info", b"software: x"),
    record("conversion", "http://a", "Dr. Smith left. He came back!\nÜber uns".encode()),
    record("conversion", "http://b", b"\xff\xfe"),
    record("conversion", "http://c", b" \n"),
    record("conversion", "http://d", b"Short one. " + b"x" * 60 + b"."),
]
SENTENCES = ["Dr. Smith left.", "He came back!", "Über uns", "Short one."]


@pytest.mark.parametrize("compress", [None, gzip.compress])
def test_wet(tmp_path: Path, compress) -> None:
    data = b"".join(compress(part) for part in WET) if compress else b"".join(WET)
    path = write(tmp_path / ("a.warc.wet.gz" if compress else "a.wet"), data)
    refs = ["http://a"] * 3 + ["http://d"]
    assert read(path) == (SENTENCES, [1, 1, 1, 4], refs, {"bad_utf8": 1, "empty": 1, "too_long": 1})


def test_warc_reads_the_main_text_of_html_only(tmp_path: Path) -> None:
    latin = PAGE.format("größer").encode("latin-1")
    parts = [
        response("http://a", PAGE.format("good").encode()),
        response("http://b", b"%PDF", "application/pdf"),
        response("http://c", latin, "text/html; charset=iso-8859-1"),
    ]
    path = write(tmp_path / "a.warc.gz", b"".join(map(gzip.compress, parts)))
    texts, lines, refs, dropped = read(path)
    assert texts == ["Hello there.", "Was it good?", "Hello there.", "Was it größer?"]
    assert (lines, refs) == ([1, 1, 3, 3], ["http://a"] * 2 + ["http://c"] * 2)
    assert dropped == {"not_a_page": 1}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_truncated_warc(tmp_path: Path, compress) -> None:
    # Not compressible, so that the cut falls into the last record.
    noise = b"".join(b"%x " % (i * 2654435761 % 2**32) for i in range(40_000))
    data = compress(record("conversion", "http://a", b"First page. ")) + compress(
        record("conversion", "http://b", noise)
    )
    path = write(tmp_path / ("a.wet.gz" if compress is gzip.compress else "a.wet"), data[: len(data) * 3 // 4])
    with pytest.raises(InputError, match=r"a\.wet.*: cannot be read after record"):
        read(path)
    texts, _, _, dropped = read(path, SETTINGS.model_copy(update={"truncated": "keep"}))
    assert texts == ["First page."]
    assert dropped == {"truncated": 1}


def test_garbage_is_no_warc(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.warc: cannot be read after record 0"):
        read(write(tmp_path / "a.warc", b"garbage\n" * 100))


def test_html(tmp_path: Path) -> None:
    path = write(tmp_path / "a.html", PAGE.format("good").encode())
    assert read(path) == (["Hello there.", "Was it good?"], [1, 1], [str(path)] * 2, {})


@pytest.mark.parametrize("tags", [("<div>", "</div>"), ("<div>", ""), ("<SPAN class='a'>", "</SPAN>")])
def test_deeply_nested_html_is_left_out(tmp_path: Path, tags: tuple[str, str]) -> None:
    path = write(tmp_path / "a.html", (tags[0] * 40_000 + "Hello." + tags[1] * 40_000).encode())
    assert read(path) == ([], [], [], {"too_deep": 1})


@pytest.mark.parametrize(
    "attributes",
    [
        " ".join(f"a{i}" for i in range(1001)),
        " ".join(f"a{i}='>'" for i in range(1001)),
        "/".join(f'a{i} = "1"' for i in range(1001)),
        "".join(f'a{i}="/"' for i in range(1001)),
        " ".join(f"=a{i}" for i in range(2002)),
    ],
)
def test_a_tag_with_too_many_attributes(tmp_path: Path, attributes: str) -> None:
    path = write(tmp_path / "a.html", f"<p>Hello.</p><p {attributes}>There.</p>".encode())
    assert read(path) == ([], [], [], {"too_many_attributes": 1})


def test_the_attributes_of_many_tags_are_not_those_of_one(tmp_path: Path) -> None:
    tags = "".join(f"<p id='a > b' class={i} data-x=\"<b y>\" title=''>Sentence {i}.</p>" for i in range(400))
    path = write(tmp_path / "a.html", f"<html><body><main>{tags}</main></body></html>".encode())
    texts, _, _, dropped = read(path)
    assert (len(texts), dropped) == (400, {})


def test_many_elements_are_not_deep(tmp_path: Path) -> None:
    body = "<div><p>One.<br><img src='x'><p>Two.</div>" * 600
    path = write(tmp_path / "a.html", f"<html><body><main>{body}</main></body></html>".encode())
    texts, _, _, dropped = read(path)
    assert (len(texts), dropped) == (1200, {})


SPLITS = [
    ("en", "Dr. Smith paid 3.5 dollars. Really? Yes!", ["Dr. Smith paid 3.5 dollars.", "Really?", "Yes!"]),
    ("de", "Am 3. Oktober kam er. Ende.", ["Am 3. Oktober kam er.", "Ende."]),
    ("zh", "今天很好。我们走吧！“好。”他说", ["今天很好。", "我们走吧！", "“好。”", "他说"]),
    ("ja", "元気ですか？はい。", ["元気ですか？", "はい。"]),
    ("en", "no full stop\nnext line", ["no full stop", "next line"]),
    ("en", "", []),
    ("mt", "One. Two.", ["One.", "Two."]),
]


@pytest.mark.parametrize(("lang", "text", "expected"), SPLITS)
def test_split_sentences(lang: str, text: str, expected: list[str]) -> None:
    assert split_sentences(text, ReadSettings(lang=lang).lang) == expected
