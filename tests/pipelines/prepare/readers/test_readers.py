"""Every format through `read_block`: what is kept, where it came from, what is dropped and why."""

import bz2
import gzip
import json
import lzma
from collections import Counter
from pathlib import Path

import fsspec
import polib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mining.errors import InputError
from mining.paths import expand
from pipelines.prepare.readers import Block, ReadSettings, cut_file, read_block
from pipelines.prepare.readers.formats import reader_format

SETTINGS = ReadSettings(lang="en", max_chars=50)
COMPRESS = {
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstandard.ZstdCompressor().compress,
}


def read(url: Path | str, settings: ReadSettings = SETTINGS, block_bytes: int = 1 << 20):
    """Everything in a file: texts, lines in the file, refs, and the counts of what was dropped."""
    texts, lines, refs, dropped, before = [], [], [], Counter(), 0
    for block in cut_file(str(url), settings, block_bytes, 0):
        end = 0
        for batch in read_block(block, settings):
            assert len(batch.lines) == len(batch.texts)
            texts += batch.texts
            lines += [before + int(line) for line in batch.lines]
            refs += batch.refs or []
            dropped += batch.dropped
            end = batch.end
        before += end
    return texts, lines, refs, dict(dropped)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


LINES = [
    (b"one\ntwo\n", ["one", "two"], [1, 2], {}),
    (b"one\ntwo", ["one", "two"], [1, 2], {}),
    (b"", [], [], {}),
    (b"\n", [], [], {"empty": 1}),
    (b"one\n\n  \ntwo\n", ["one", "two"], [1, 4], {"empty": 2}),
    (b"one\r\ntwo\r\n", ["one", "two"], [1, 2], {}),
    (b"\xef\xbb\xbfone\n", ["one"], [1], {}),
    (b"one\n\xff\xfe\ntwo\n", ["one", "two"], [1, 3], {"bad_utf8": 1}),
    (b"x" * 51 + b"\n" + b"y" * 50 + b"\n", ["y" * 50], [2], {"too_long": 1}),
    ("ü".encode() * 50 + b"\n", ["ü" * 50], [1], {}),
    ("a\u2028b\x0bc\x85d\n".encode(), ["a\u2028b\x0bc\x85d"], [1], {}),
    (b"a" * 3_000_000 + b"\nlast\n", ["last"], [2], {"too_long": 1}),
    ("ü".encode() * 1_500_000 + b"\nlast", ["last"], [2], {"too_long": 1}),
]


@pytest.mark.parametrize(("data", "texts", "lines", "dropped"), LINES)
def test_lines(tmp_path: Path, data: bytes, texts: list[str], lines: list[int], dropped: dict[str, int]) -> None:
    assert read(write(tmp_path / "a.txt", data)) == (texts, lines, [], dropped)


@pytest.mark.parametrize("codec", COMPRESS)
def test_archives_of_several_members(tmp_path: Path, codec: str) -> None:
    compress = COMPRESS[codec]
    path = write(tmp_path / f"a.txt.{codec}", compress(b"one\ntw") + compress(b"o\nthree\n"))
    assert read(path)[:2] == (["one", "two", "three"], [1, 2, 3])


@pytest.mark.parametrize("codec", COMPRESS)
def test_truncated_archive_names_file_and_line_or_keeps_what_it_can(tmp_path: Path, codec: str) -> None:
    whole = b"".join(b"%d %x\n" % (i, i * 2654435761 % 2**32) for i in range(40_000))
    data = COMPRESS[codec](whole)
    path = write(tmp_path / f"a.txt.{codec}", data[: len(data) * 2 // 3])
    with pytest.raises(InputError, match=rf"a\.txt\.{codec}: cannot be read after line \d+ .*--truncated keep"):
        read(path)
    texts, lines, _, dropped = read(path, SETTINGS.model_copy(update={"truncated": "keep"}))
    assert texts == whole.decode().split("\n")[: len(texts)]
    assert lines == list(range(1, len(texts) + 1))
    assert len(texts) > 5_000
    assert dropped == {"truncated": 1}


@pytest.mark.parametrize("codec", ["gz", "xz"])  # the blocks of the others are larger
def test_a_small_truncated_archive_keeps_its_lines(tmp_path: Path, codec: str) -> None:
    whole = b"".join(b"%d %x\n" % (i, i * 2654435761 % 2**32) for i in range(300))
    path = write(tmp_path / f"a.txt.{codec}", COMPRESS[codec](whole)[:-5])
    texts, _, _, dropped = read(path, SETTINGS.model_copy(update={"truncated": "keep"}))
    assert texts == whole.decode().splitlines()
    assert dropped == {"truncated": 1}


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl"])
def test_another_encoding_is_named(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "schön größer über\n".encode("latin-1") * 20 + b"plain\n" * 280)
    with pytest.raises(InputError, match=rf"{name}: 20 of 300 lines are not valid UTF-8; it looks like WINDOWS-1252"):
        read(path)
    with pytest.raises(InputError, match=f"{name} is UTF-16, not UTF-8"):
        read(write(path, "hello there\n".encode("utf-16")))
    with pytest.raises(InputError, match=rf"{name} is compressed \(gz\), not text; .*{name}\.gz$"):
        read(write(path, gzip.compress(b"hello there\n" * 200)))


def test_not_an_archive_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.gz: cannot be read after line 0"):
        read(write(tmp_path / "a.gz", b"plain text\n"))


@given(
    st.lists(st.sampled_from(["", "a", "bb", "çé", "line of text", "\r"]), max_size=30),
    st.integers(1, 40),
    st.booleans(),
)
def test_byte_ranges_own_each_line_once(lines: list[str], block_bytes: int, final_newline: bool) -> None:
    data = "\n".join(lines) + ("\n" if final_newline and lines else "")
    url = "memory://ranges/a.txt"
    with fsspec.open(url, "wb") as stream:
        stream.write(data.encode())
    assert read(url, block_bytes=block_bytes) == read(url, block_bytes=10**6)


TSV = [
    ({"column": "2"}, b"1\tone\n2\ttwo\tx\n", ["one", "two"], [], {}),
    ({}, b"one\t1\ntwo\n", ["one", "two"], [], {}),
    ({"column": "2", "ref_column": "1"}, b"r1\tone\nshort\n\n\xff\tx\nr5\ttwo\n", ["one", "two"], ["r1", "r5"], None),
    ({"column": "1", "ref_column": "3"}, b"one\tx\tr\ntwo\tx\n", ["one"], ["r"], {"no_column": 1}),
    ({"column": "2", "ref_column": "1"}, b"r1\tone\n\ttwo\n", ["one", "two"], ["r1", None], {}),
]


@pytest.mark.parametrize(("options", "data", "texts", "refs", "dropped"), TSV)
def test_tsv(
    tmp_path: Path, options: dict, data: bytes, texts: list[str], refs: list[str], dropped: dict | None
) -> None:
    found = read(write(tmp_path / "a.tsv", data), SETTINGS.model_copy(update=options))
    assert (found[0], found[2]) == (texts, refs)
    assert found[3] == ({"no_column": 1, "empty": 1, "bad_utf8": 1} if dropped is None else dropped)


@pytest.mark.parametrize("column", ["0", "-1", "text"])
def test_tsv_column_must_be_a_number(tmp_path: Path, column: str) -> None:
    with pytest.raises(InputError, match="column number"):
        read(write(tmp_path / "a.tsv", b"a\tb\n"), SETTINGS.model_copy(update={"column": column}))


def test_bucc_keeps_the_external_id_and_tabs_of_the_sentence(tmp_path: Path) -> None:
    path = write(tmp_path / "de-en.en", b"en-1\tone\tmore\nen-2\nen-3\t\nen-4\tfour\n")
    found = read(path, SETTINGS.model_copy(update={"format": "bucc"}))
    assert found == (["one\tmore", "four"], [1, 4], ["en-1", "en-4"], {"no_column": 1, "empty": 1})


def test_jsonl(tmp_path: Path) -> None:
    rows = [{"text": "one", "url": "u1"}, {"other": "x"}, {"text": 5}, ["text"], {"text": ""}, {"text": "two"}]
    data = "\n".join([*map(json.dumps, rows), "{broken", "", "[" * 5000]).encode() + b"\n\xff\n"
    found = read(write(tmp_path / "a.jsonl", data), SETTINGS.model_copy(update={"ref_column": "url"}))
    assert found == (["one", "two"], [1, 6], ["u1", None], {"no_column": 2, "bad_json": 3, "empty": 2, "bad_utf8": 1})


def test_parquet_blocks_are_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [None, "", "x" * 51, *[f"row {i}" for i in range(3, 100)]]
    pq.write_table(pa.table({"body": texts, "id": range(100)}), path, row_group_size=10)
    settings = SETTINGS.model_copy(update={"column": "body", "ref_column": "id"})
    assert len(cut_file(str(path), settings, 1, 0)) == 10
    expected = (texts[3:], list(range(4, 101)), [str(i) for i in range(3, 100)], {"empty": 2, "too_long": 1})
    assert read(path, settings, block_bytes=1) == read(path, settings) == expected


def test_a_row_without_a_ref_is_not_called_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two", "three"], "id": ["r1", None, ""]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", SETTINGS.model_copy(update={"ref_column": "id"}))[2] == ["r1", None, None]


@pytest.mark.parametrize(("column", "message"), [(None, "no column 'text'; it has body, id"), ("id", "not text")])
def test_parquet_column_must_be_there_and_text(tmp_path: Path, column: str | None, message: str) -> None:
    pq.write_table(pa.table({"body": ["a"], "id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.parquet", SETTINGS.model_copy(update={"column": column}))


def test_damaged_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.parquet: not a readable Parquet file"):
        read(write(tmp_path / "a.parquet", b"PAR1 not really"))


@pytest.mark.parametrize("kind", ["po", "mo"])
def test_gettext(tmp_path: Path, kind: str) -> None:
    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    catalog.append(polib.POEntry(msgid="Open", msgstr="Öffnen", occurrences=[("a.c", "7")]))
    catalog.append(polib.POEntry(msgid="Save", msgstr=""))
    catalog.append(polib.POEntry(msgid="two\nlines", msgstr="zwei\nZeilen", msgctxt="menu"))
    catalog.append(polib.POEntry(msgid="old", msgstr="alt", flags=["fuzzy"]))
    catalog.append(polib.POEntry(msgid="one", msgid_plural="many", msgstr_plural={0: "eins", 1: "viele"}))
    path = tmp_path / f"a.{kind}"
    (catalog.save if kind == "po" else catalog.save_as_mofile)(str(path))
    texts, lines, refs, dropped = read(path)
    assert sorted(texts) == ["eins", "zwei Zeilen", "Öffnen"]
    assert lines == sorted(set(lines))
    assert "menu" in refs
    if kind == "po":  # compiled catalogs leave out what is not translated
        assert dropped == {"untranslated": 2}
        assert [path.read_text().split("\n")[line - 1][:5] for line in lines] == ["#: a.", "msgct", "msgid"]
    sources = read(path, SETTINGS.model_copy(update={"column": "msgid"}))[0]
    assert {"Open", "two lines", "one"} <= set(sources)


def test_damaged_gettext(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.po: not a readable gettext catalog"):
        read(write(tmp_path / "a.po", b"this is no catalog\n"))
    with pytest.raises(InputError, match=r"a\.po, line 2: not valid UTF-8"):
        read(write(tmp_path / "a.po", b'msgid "a"\nmsgstr "\xff"\n'))


FORMATS = [("a.txt", "txt"), ("a", "txt"), ("a.txt.gz", "txt"), ("x.y/a.tsv.zst", "tsv"), ("a.jsonl.xz", "jsonl")]
FORMATS += [("a.warc.gz", "warc"), ("a.warc.wet.gz", "wet"), ("a.PO", "gettext"), ("a.htm", "html"), ("a.en", "txt")]


@pytest.mark.parametrize(("name", "expected"), FORMATS)
def test_format_by_extension(name: str, expected: str) -> None:
    assert reader_format(f"s3://bucket/{name}") == expected


def test_expand_keeps_the_order_given_and_each_file_once(tmp_path: Path) -> None:
    for name in ("b1.txt", "b2.txt", "a.txt"):
        write(tmp_path / name, b"x\n")
    found = expand([f"{tmp_path}/b*.txt", f"{tmp_path}/*.txt"])
    assert [Path(url).name for url in found] == ["b1.txt", "b2.txt", "a.txt"]


@pytest.mark.parametrize("pattern", ["nothing/*.txt", "missing.txt", "."])
def test_expand_names_what_is_not_there(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(InputError, match=pattern.replace("*", r"\*")):
        expand([f"{tmp_path}/{pattern}"])


def test_missing_file_on_a_worker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read_block(Block(0, str(tmp_path / "gone.txt"), "txt"), SETTINGS))
