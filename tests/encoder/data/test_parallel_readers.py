"""Every format gives the same groups; what is malformed is named."""

import gc
import gzip
import lzma
import zipfile
from collections import Counter, deque
from itertools import islice
from pathlib import Path
from xml.etree.ElementTree import Element

import polib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from encoder.data.corpora import CorpusFile, CorpusSettings, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group, Malformed, Row
from encoder.data.preparation import data_fingerprint, draw_limits, text_blocks
from mining.errors import InputError

EXPECTED = [Group(("en", "de"), ("Good day", "Guten Tag")), Group(("en", "de"), ("Thanks", "Danke"))]


def read(path: Path | str, **corpus: object) -> list[Row]:
    data = DataSettings(corpora=(CorpusSettings(path=str(path), **corpus),))
    return [row for file in find_files(data) for row in read_groups(file)]


@pytest.mark.parametrize("name", ["en-de.tsv", "x.en-de.tsv.gz", "en-de.tsv.xz", "en-de.tsv.zst"])
def test_tsv_with_languages_in_its_name(tmp_path: Path, name: str) -> None:
    data = "\ufeffGood day\tGuten Tag\r\nThanks\tDanke\n".encode()
    pack = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.compress}.get(name.split(".")[-1], bytes)
    (tmp_path / name).write_bytes(pack(data))
    assert read(tmp_path / name) == EXPECTED


def test_tsv_columns_and_globs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1.2\tGuten Tag\tGood day\n")
    (tmp_path / "b.tsv").write_text("1.1\tDanke\tThanks\n")
    assert read(tmp_path / "*.tsv", langs=("en", "de"), columns=(2, 1)) == EXPECTED


def test_some_rows_of_a_corpus_are_drawn_over_all_its_files(tmp_path: Path) -> None:
    for name, first in (("a.en-de.tsv", 0), ("b.en-de.tsv", 500)):
        (tmp_path / name).write_text("".join(f"{n}\tx{n}\n" for n in range(first, first + 500)))
    drawn = {}
    for most in (None, 40):
        data = DataSettings(corpora=(CorpusSettings(path=str(tmp_path / "*.tsv"), most=most),))
        files = find_files(data)
        blocks = text_blocks(files, None, False, Counter(), draw_limits(data))
        drawn[most] = [int(group.texts[0]) for block in blocks for group in block.groups]
        drawn[data_fingerprint(data, files, "", (), False)] = drawn[most]
    assert drawn[None] == list(range(1000)) and len(drawn) == 4
    assert len(drawn[40]) == 40 == len(set(drawn[40])) and drawn[40] == sorted(drawn[40])
    assert 8 <= sum(n >= 500 for n in drawn[40]) <= 32


def test_malformed_lines_keep_their_number(tmp_path: Path) -> None:
    path = tmp_path / "en-de.tsv"
    path.write_bytes(b"one\nGood day\tGuten Tag\n\tleer\n\xff\xfe\ta\na\tb\tc\n")
    assert [row for row in read(path) if isinstance(row, Malformed)] == [
        Malformed(1, "1 columns instead of 2"),
        Malformed(3, "empty side"),
        Malformed(4, "not valid UTF-8"),
        Malformed(5, "3 columns instead of 2"),
    ]


def test_jsonl_groups(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"en": "Good day", "deu": "Guten Tag"}\n{"en": "x"}\n[1]\n{oops\n{"en": "Thanks", "de": "Danke"}\n'
    )
    rows = read(path)
    assert [row for row in rows if isinstance(row, Group)] == EXPECTED
    reasons = [row.reason for row in rows if isinstance(row, Malformed)]
    assert reasons == ["fewer than two languages", "not a JSON object", "not valid JSON"]


def test_unknown_language_in_jsonl_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"en": "a", "de": "b"}\n{"en": "a", "qqqq": "b"}\n')
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: 'qqqq' is not a language code"):
        read(path)


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"src_text": ["Good day", "Thanks", None], "tgt_text": ["Guten Tag", "Danke", "x"]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet", langs=("en", "de")) == [*EXPECTED, Malformed(3, "a side is not text")]
    with pytest.raises(InputError, match="no column a; set `columns` to two of: src_text, tgt_text"):
        read(tmp_path / "x.parquet", langs=("en", "de"), columns=("a", "b"))


def test_moses_pair_and_unequal_lengths(tmp_path: Path) -> None:
    (tmp_path / "c.en").write_text("Good day\nThanks\n")
    (tmp_path / "c.de.gz").write_bytes(gzip.compress(b"Guten Tag\nDanke\n"))
    corpus = {"format": "moses", "langs": ("en", "de")}
    assert read(tmp_path / "c", **corpus) == EXPECTED
    (tmp_path / "c.en").write_text("Good day\n")
    with pytest.raises(InputError, match=r"c\.en ends before line 2"):
        read(tmp_path / "c", **corpus)


@pytest.mark.parametrize("kind", ["po", "mo"])
def test_gettext(tmp_path: Path, kind: str) -> None:
    catalogue = polib.POFile()
    catalogue.metadata = {"Language": "de", "Content-Type": "text/plain; charset=utf-8"}
    for source, target in (("Good day", "Guten Tag"), ("Thanks", "Danke"), ("Nothing", "")):
        catalogue.append(polib.POEntry(msgid=source, msgstr=target))
    catalogue.append(polib.POEntry(msgid="Draft", msgstr="Entwurf", flags=["fuzzy"]))
    getattr(catalogue, "save" if kind == "po" else "save_as_mofile")(str(tmp_path / f"x.{kind}"))
    groups = [row for row in read(tmp_path / f"x.{kind}") if isinstance(row, Group)]
    assert sorted(groups) == sorted(EXPECTED)


def test_a_file_inside_an_archive_is_read_in_place(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("inside/en-de.tsv", "one\teins\n" * 50_000)
    url = f"zip://inside/en-de.tsv::{tmp_path}/data.zip"
    assert len(list(read_groups(CorpusFile(0, (url,), "tsv", ("en", "de"), None)))) == 50_000


def test_units_of_tmx_are_forgotten(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    (tmp_path / "x.tmx").write_text(f"<tmx><header/><body>{unit * 50_000}</body></tmx>")
    rows = read_groups(CorpusFile(0, (str(tmp_path / "x.tmx"),), "tmx", None, None))
    deque(islice(rows, 40_000), maxlen=0)
    assert sum(type(found) is Element for found in gc.get_objects()) < 20_000


def test_tmx(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="en-US"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    body = unit.format("Good <hi>d</hi>ay", "Guten\n Tag") + unit.format("Thanks", "Danke")
    path = tmp_path / "x.tmx"
    path.write_text(f"<tmx><header/><body>{body}</body></tmx>")
    assert read(path) == EXPECTED
    path.write_text(f"<tmx><body>{body}")
    with pytest.raises(InputError, match=r"x\.tmx, line 2, column .*: not valid XML"):
        read(path)


@pytest.mark.parametrize(
    ("name", "corpus", "message"),
    [
        ("none.tsv", {"langs": ("en", "de")}, "no such file"),
        ("x.tsv", {}, "which languages"),
        ("en-de.csv", {}, "format is not clear"),
        ("c", {"format": "moses"}, "needs `langs"),
    ],
)
def test_mistakes_in_a_corpus(tmp_path: Path, name: str, corpus: dict[str, object], message: str) -> None:
    if not name.startswith("none"):
        (tmp_path / name).write_text("a\tb\n")
    with pytest.raises(InputError, match=message):
        read(tmp_path / name, **corpus)


def test_truncated_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "en-de.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n" * 10_000)[:60])
    with pytest.raises(InputError, match="cannot be read after line"):
        read(path)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "en-de.tsv").write_bytes("bigger\tgrößer\n".encode("latin-1") * 20)
    with pytest.raises(InputError, match="20 of 20 lines are not valid UTF-8; it looks like WINDOWS-1252"):
        read(tmp_path / "en-de.tsv")
