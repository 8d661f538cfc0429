"""TMX against the structure of the TMX 1.4 DTD, as a general XML library reads it."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from mining.pairs import REJECTED_SCHEMA, conform
from mining.tmx import read_tmx, write_tmx

# The part of the TMX 1.4 DTD that a file of plain segments uses.
DTD = """
<!ELEMENT tmx (header, body)>
<!ATTLIST tmx version CDATA #FIXED "1.4">
<!ELEMENT header (note | prop | ude)*>
<!ATTLIST header creationtool CDATA #REQUIRED creationtoolversion CDATA #REQUIRED
  segtype (block | paragraph | sentence | phrase) #REQUIRED o-tmf CDATA #REQUIRED adminlang CDATA #REQUIRED
  srclang CDATA #REQUIRED datatype CDATA #REQUIRED creationdate CDATA #IMPLIED>
<!ELEMENT body (tu*)>
<!ELEMENT note (#PCDATA)>
<!ELEMENT ude EMPTY>
<!ELEMENT prop (#PCDATA)>
<!ATTLIST prop type CDATA #REQUIRED xml:lang CDATA #IMPLIED o-encoding CDATA #IMPLIED>
<!ELEMENT tu ((note | prop)*, tuv+)>
<!ATTLIST tu tuid CDATA #IMPLIED srclang CDATA #IMPLIED>
<!ELEMENT tuv ((note | prop)*, seg)>
<!ATTLIST tuv xml:lang CDATA #REQUIRED>
<!ELEMENT seg (#PCDATA | bpt | ept | it | ph | hi | ut)*>
<!ELEMENT bpt ANY> <!ELEMENT ept ANY> <!ELEMENT it ANY> <!ELEMENT ph ANY> <!ELEMENT hi ANY> <!ELEMENT ut ANY>
"""
ROW = {
    "src_id": 2**64 - 1,
    "tgt_id": 0,
    "score": 1.06,
    "cosine": 0.5,
    "src_source": "a <b> & 'c'.txt",
    "src_line": 7,
    "src_ref": "https://c/?d&e",
    "directions": "fb",
    "reason": 'x"y',
}


def written(table: pa.Table, src_lang: str = "de", tgt_lang: str = "zh-Hant") -> bytes:
    stream = io.StringIO()
    assert write_tmx(stream, [conform(table)], src_lang, tgt_lang) == table.num_rows
    return stream.getvalue().encode()


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_valid_by_the_dtd_and_readable_by_lxml(texts: list[tuple[str, str]]) -> None:
    rows = [ROW | {"src_text": source, "tgt_text": target} for source, target in texts]
    content = written(pa.Table.from_pylist(rows, schema=REJECTED_SCHEMA))
    root = etree.fromstring(content)
    dtd = etree.DTD(io.StringIO(DTD))
    assert dtd.validate(root), dtd.error_log
    assert root.getroottree().docinfo.system_url == "tmx14.dtd"
    assert len(root.findall("body/tu")) == len(texts)
    languages = [variant.get("{http://www.w3.org/XML/1998/namespace}lang") for variant in root.iter("tuv")]
    assert languages == ["de", "zh-Hant"] * len(texts)


def test_properties() -> None:
    root = etree.fromstring(
        written(pa.Table.from_pylist([ROW | {"src_text": "a", "tgt_text": "b"}], schema=REJECTED_SCHEMA))
    )
    assert {prop.get("type"): prop.text for prop in root.findall("body/tu/prop")} == {
        "score": "1.06",
        "cosine": "0.5",
        "directions": "fb",
        "reason": 'x"y',
    }
    source = root.find("body/tu/tuv")
    assert [prop.text for prop in source.findall("prop")] == [str(2**64 - 1), "a <b> & 'c'.txt", "7", "https://c/?d&e"]
    assert [prop.get("type") for prop in source.getnext().findall("prop")] == ["id"]


FOREIGN = b"""<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><prop type="score">not a number</prop><tuv xml:lang="EN_us"><seg>a <bpt i="1">&lt;b&gt;</bpt>c</seg></tuv>
<tuv xml:lang="fr"><seg>d</seg></tuv><tuv lang="de"><seg>e</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("languages", "expected"),
    [((None, None), ("a c", "d")), (("en", "de"), ("a c", "e")), (("de", "en"), ("e", "a c"))],
)
def test_files_of_other_tools(tmp_path: Path, languages: tuple, expected: tuple) -> None:
    (tmp_path / "f.tmx").write_bytes(FOREIGN)
    rows = [row for batch in read_tmx(str(tmp_path / "f.tmx"), *languages) for row in batch.to_pylist()]
    assert [(row["src_text"], row["tgt_text"], row["score"]) for row in rows] == [(*expected, None)]


def test_absent_language(tmp_path: Path) -> None:
    (tmp_path / "f.tmx").write_bytes(FOREIGN)
    assert list(read_tmx(str(tmp_path / "f.tmx"), "en", "ja")) == []
