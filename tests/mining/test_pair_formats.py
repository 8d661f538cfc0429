"""Pair files: round trips of hostile text, bounded streaming, and errors that name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mining.errors import InputError
from mining.pair_formats import Format, format_of, moses_urls, read_pairs, write_pairs
from mining.pairs import REJECTED_SCHEMA, SCHEMA

HOSTILE = [
    "\t",
    "\n",
    "\r",
    "\r\n",
    '"',
    "'",
    "&amp;",
    "<script>",
    "]]>",
    "\x00",
    "\x1b",
    "\u2028",
    "\x85",
    "\u202e",
    "\ufffe",
]
TEXTS = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=5).map("".join)
MAYBE_TEXTS = st.none() | TEXTS
FLOATS = st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "src_id": st.none() | st.integers(0, 2**64 - 1),
            "tgt_id": st.none() | st.integers(0, 2**64 - 1),
            "score": FLOATS,
            "cosine": FLOATS,
            "src_text": TEXTS,
            "tgt_text": TEXTS,
            "src_source": MAYBE_TEXTS,
            "src_line": st.none() | st.integers(-(2**63), 2**63 - 1),
            "src_ref": MAYBE_TEXTS,
            "tgt_source": MAYBE_TEXTS,
            "tgt_line": st.none() | st.integers(-(2**63), 2**63 - 1),
            "tgt_ref": MAYBE_TEXTS,
            "directions": st.sampled_from(["f", "b", "fb", None]),
        }
    ),
    max_size=6,
)
LANGUAGES = {"src_lang": "de", "tgt_lang": "en"}
TMX_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
LINE_BREAKS = re.compile("[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def survives(value: object, kind: Format) -> object:
    """What a value is after a trip through a format."""
    if not isinstance(value, str):
        return value
    if kind is Format.TMX:
        return TMX_ILLEGAL.sub("", value)
    return LINE_BREAKS.sub(" ", value) if kind in (Format.TSV, Format.MOSES) else value


CARRIED = {
    Format.TSV: {"score", "src_text", "tgt_text", "reason"},
    Format.MOSES: {"src_text", "tgt_text"},
}
CASES = [(Format.PARQUET, "")] + [
    (kind, end)
    for kind in (Format.TSV, Format.JSONL, Format.TMX, Format.MOSES)
    for end in ("", ".gz", ".zst", ".xz", ".bz2")
]


@pytest.mark.parametrize(("kind", "end"), CASES)
@pytest.mark.parametrize("rejected", [False, True])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=ROWS)
def test_round_trip(tmp_path: Path, kind: Format, end: str, rejected: bool, rows: list[dict]) -> None:
    if rejected and kind is Format.MOSES:
        return
    url = str(tmp_path / f"pairs.{kind}{end}")
    schema = REJECTED_SCHEMA if rejected else SCHEMA
    if rejected:
        rows = [row | {"reason": "length: 3 < 5"} for row in rows]
    table = pa.Table.from_pylist(rows, schema=schema)
    assert write_pairs(url, table.to_batches(max_chunksize=2), format=kind, **LANGUAGES) == len(rows)
    read = [row for batch in read_pairs(url, format=kind, **LANGUAGES) for row in batch.to_pylist()]
    carried = CARRIED.get(kind, set(schema.names))
    expected = [{n: survives(v, kind) if n in carried else None for n, v in row.items()} for row in table.to_pylist()]
    assert [{name: row.get(name) for name in schema.names} for row in read] == expected


def test_tsv_is_the_order_of_laser(tmp_path: Path) -> None:
    table = pa.table({"score": [1.06], "src_text": ["ein\tTab"], "tgt_text": ["a tab"], "src_id": [1]})
    write_pairs(str(tmp_path / "a.tsv"), [table])
    assert (tmp_path / "a.tsv").read_text() == "1.06\tein Tab\ta tab\n"


def test_moses_files(tmp_path: Path) -> None:
    table = pa.table({"src_text": ["eins", "zwei\nDrei"], "tgt_text": ["one", ""]})
    write_pairs(str(tmp_path / "out"), [table], format=Format.MOSES, **LANGUAGES)
    assert (tmp_path / "out.de").read_text() == "eins\nzwei Drei\n"
    assert (tmp_path / "out.en").read_text() == "one\n\n"
    assert moses_urls("x/out.gz", "de", "en") == ("x/out.de.gz", "x/out.en.gz")


@pytest.mark.parametrize("kind", list(Format))
def test_streams_and_leaves_nothing_behind_on_failure(tmp_path: Path, kind: Format) -> None:
    def batches() -> Iterator[pa.Table]:
        for _ in range(3):
            yield pa.table({"src_text": ["a"] * 500, "tgt_text": ["b"] * 500})
        raise KeyError

    with pytest.raises(KeyError):
        write_pairs(str(tmp_path / f"out.{kind}"), batches(), format=kind, **LANGUAGES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", list(Format))
def test_no_pairs_is_a_valid_file(tmp_path: Path, kind: Format) -> None:
    url = str(tmp_path / f"out.{kind}")
    assert write_pairs(url, [], format=kind, **LANGUAGES) == 0
    assert sum(batch.num_rows for batch in read_pairs(url, format=kind, **LANGUAGES)) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.parquet", "parquet"), ("gs://b/a.tsv.gz", "tsv"), ("A.JSONL.ZST", "jsonl"), ("a.tmx.xz", "tmx")],
)
def test_format_by_extension(name: str, expected: str) -> None:
    assert format_of(name) == expected


@pytest.mark.parametrize("name", ["pairs", "pairs.moses", "pairs.txt", "pairs.gz", "tsv", "a.tsv/b"])
def test_unknown_extension(name: str) -> None:
    with pytest.raises(InputError, match=r"names no pair format.*--pair-format of mine and align"):
        format_of(name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"1.0\ta\tb\n1.0\ta\n", r"a.tsv, line 2: 2 columns"),
        ("a.tsv", b"high\ta\tb\n", r"a.tsv, line 1: the score 'high' is not a number"),
        ("a.tsv", b"1\t\xff\tb\n", r"a.tsv, line 1: not valid UTF-8"),
        ("a.jsonl", b'{"src_text": "a", "tgt_text": "b"}\n{', r"a.jsonl, line 2: not JSON"),
        ("a.jsonl", b'{"src_text": "a"}\n', r"line 1: an object with the texts"),
        ("a.jsonl", b'{"src_text": "a", "tgt_text": "b", "src_id": -4}\n', "does not fit"),
        ("a.jsonl", b'{"src_text": "a", "tgt_text": "b", "src_id": "x"}\n', "does not fit"),
        ("a.tmx", b"<tmx><body><tu>", "line 1, column 15: not valid XML"),
        ("a.tmx.gz", b"<tmx>", "cannot be read"),
        ("a.parquet", b"PAR1 not really", "cannot be read"),
        ("absent/a.tsv", None, "no such file"),
        ("absent/a.tmx", None, "no such file"),
        ("absent/a.parquet", None, "no such file"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_pairs(str(tmp_path / name)))


def test_moses_files_of_different_length(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("eins\nzwei\n")
    (tmp_path / "a.en").write_text("one\n")
    with pytest.raises(InputError, match="differ in their number of lines"):
        list(read_pairs(str(tmp_path / "a"), format=Format.MOSES, **LANGUAGES))
    (tmp_path / "a.en").write_bytes(b"one\n\xff\n")
    with pytest.raises(InputError, match=r"a.en, line 2: not valid UTF-8"):
        list(read_pairs(str(tmp_path / "a"), format=Format.MOSES, **LANGUAGES))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.tmx", {}, "needs the languages"),
        ("a", {"format": Format.MOSES, "src_lang": "de"}, "needs the languages"),
        ("a", {"format": Format.MOSES, "src_lang": "de", "tgt_lang": "de"}, "two different languages"),
        ("a.parquet.gz", {}, "compressed inside"),
    ],
)
def test_bad_requests(tmp_path: Path, name: str, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_pairs(str(tmp_path / name), [pa.table({"src_text": ["a"], "tgt_text": ["b"]})], **options)
    assert list(tmp_path.iterdir()) == []


def test_moses_has_no_place_for_reasons(tmp_path: Path) -> None:
    table = pa.table({"src_text": ["a"], "tgt_text": ["b"], "reason": ["length"]})
    with pytest.raises(InputError, match="no place for a reason"):
        write_pairs(str(tmp_path / "a"), [table], format=Format.MOSES, **LANGUAGES)
    assert list(tmp_path.iterdir()) == []
