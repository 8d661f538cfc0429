"""What `make fuzz-inputs` found, each once: one sentence that names the file, or a row counted by its reason."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile

from encoder.checkpoint import METRICS, load_checkpoint, read_metrics
from encoder.data.corpora import CorpusFile
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Malformed
from encoder.models.heads import read_modules
from encoder.settings import Settings, load_settings
from mining import files, translation_units
from mining.catalogs import read_catalog
from mining.errors import InputError
from mining.files import open_decompressed, read_lines, read_whole
from mining.paths import resolve
from mining.translation_units import iterate_units
from mining.vectors import open_vectors
from pipelines.clean.bitext_chunks import read_chunks
from pipelines.clean.bitext_rows import BitextSettings
from pipelines.datasets.manifest import Shard
from pipelines.prepare.readers import Block, ReadSettings, read_block, web
from tests.conftest import Refusal
from tests.pipelines.demo.wheels import catalog
from tests.pipelines.prepare.readers.test_web import PAGE, response

DEEP = "[" * 20_000
SETTINGS = ReadSettings(lang="en")


class Named(Settings):
    """Settings that have a text."""

    name: str


class Empty(Settings):
    """Settings that have none."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: \x9b\n", "not valid UTF-8 at byte 4"),
        (b"a: 2026-99-99\n", "not valid YAML"),
        (DEEP.encode(), "not valid YAML"),
    ],
)
def test_settings(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "train.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"train\.yaml: {message}"):
        load_settings(Empty, path)


def test_a_name_that_is_not_utf8() -> None:
    with pytest.raises(InputError, match=r"\\udcff\.txt: the name is not valid UTF-8; rename it"):
        resolve("\udcff.txt")


def test_a_zip_whose_directory_lies(tmp_path: Path) -> None:
    path = tmp_path / "en-de.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("X.en-de.en", "X.en-de.de"):
            archive.writestr(name, "a\nb\n")
    path.write_bytes(path.read_bytes().replace(b"PK\3\4", b"PK\3\5"))  # no file begins where it should
    with pytest.raises(InputError, match=r"en-de\.txt\.zip"):
        list(read_chunks(BitextSettings(path=str(path), src_lang="en", tgt_lang="de")))


def test_a_parquet_file_with_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"sentence {n}" for n in range(500)]}), path)
    data = path.read_bytes()
    path.write_bytes(data[:40] + data[400:])
    with pytest.raises(InputError, match=r"a\.parquet: not a readable Parquet file"):
        list(read_block(Block(0, str(path), "parquet"), SETTINGS))


def test_an_array_whose_header_does_not_end(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((4, 8), np.float32))
    path.write_bytes(path.read_bytes().replace(b"(4, 8), }", b"(4, 8  , "))
    with pytest.raises(InputError, match=r"a\.npy"):
        open_vectors(str(path))


def test_a_compiled_catalog_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.mo"
    data = bytes(catalog([("one", "eins")]).to_binary())
    path.write_bytes(data[:8] + b"\xff" + data[9:])  # more messages than there are
    with pytest.raises(InputError, match=r"a\.mo: not a readable gettext catalog"):
        read_catalog(str(path))


@pytest.mark.parametrize("content", [DEEP, '{"p": "high"}', "[1]", '{"p": null}', "\udcff"])
def test_metrics_of_an_encoder(tmp_path: Path, content: str) -> None:
    (tmp_path / METRICS).write_text(content, errors="surrogateescape")
    with pytest.raises(InputError, match=rf"{METRICS}: missing or damaged"):
        read_metrics(tmp_path)


def test_parquet_text_that_is_no_utf8(tmp_path: Path) -> None:
    """A flipped bit in the text of a file without checksums."""
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["eins"], "src_text": ["zwei"], "tgt_text": ["two"]})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"eins", b"ein\xe5").replace(b"zwei", b"zwe\xe5"))
    with pytest.raises(InputError, match=r"a\.parquet: not a readable Parquet file"):
        list(read_block(Block(0, str(path), "parquet"), SETTINGS))
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read"):
        list(read_chunks(BitextSettings(path=str(path), src_lang="de", tgt_lang="en")))
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        list(read_groups(CorpusFile(0, (str(path),), "parquet", ("de", "en"), None)))


@pytest.mark.parametrize("charset", ["utf-8m", "hex", "utf\x008", ""])
def test_a_page_in_a_character_set_that_nobody_knows(charset: str) -> None:
    page = web._html_page("a.html", b"<html><body><p>One sentence of a page.</p></body></html>", charset)
    assert page.text is not None and "One sentence" in page.text


def test_a_url_that_is_none() -> None:
    with pytest.raises(InputError, match=r"^http://\[: cannot be opened"):
        resolve("http://[")


def test_half_a_character_in_settings(tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text('name: "\\ud800"\n')
    with pytest.raises(InputError, match=r"train\.yaml: not valid YAML .*surrogates not allowed"):
        load_settings(Named, path)


def test_a_checkpoint_with_settings_nested_too_deep(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(DEEP)
    with pytest.raises(InputError, match=r"config\.yaml: not valid YAML"):
        load_checkpoint(tmp_path)


def test_json_nested_too_deep_is_one_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "en-de.jsonl"
    path.write_text(f'{DEEP}\n{{"en": "a", "de": "b"}}\n')
    bad, good = read_groups(CorpusFile(0, (str(path),), "jsonl", None, None))
    assert bad == Malformed(1, "not valid JSON") and not isinstance(good, Malformed)
    rows = [
        row for table in read_chunks(BitextSettings(path=str(path), columns=("en", "de"))) for row in table.to_pylist()
    ]
    assert [row["reason"] for row in rows] == ["not JSON", None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prepare", "a.txt", "--lang", "en", "--out", "out", "--set", "block_mb=.inf"], "--block-mb: Input should be"),
        (["clean", "a.tsv", "-o", "b.tsv", "--out-format", "{}"], "there is no pair format '{}'; choose"),
        (["inspect", "a.txt", "--rows", "1" + "0" * 30], "Invalid value for '--rows'"),
        (["prepare", "a.txt", "--lang", "en", "--out", "out", "--set", "a" * 9000], " … "),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_option_values(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    refusal: Refusal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refusal(*arguments)
    assert said in told and len(told) < 3000


ENTITY = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa">]><tmx><body><tu/></body></tmx>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_entities_are_off(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(
        ENTITY if encoding == "utf-8" else ENTITY.replace("?>", ' encoding="utf-16"?>', 1), encoding=encoding
    )
    with pytest.raises(InputError, match=r"a\.tmx: declares XML entities, which are not read"):
        list(iterate_units(str(path)))


def test_an_encoding_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text('<?xml version="1.0" encoding="UTF-1e98"?><tmx/>')
    with pytest.raises(InputError, match=r"a\.tmx: cannot be read \(unknown encoding"):
        list(iterate_units(str(tmp_path / "a.tmx")))


def bomb(path: Path, content: bytes, times: int) -> str:
    """A file that is far larger than its archive."""
    path.write_bytes(zstandard.compress(content) * times)
    return str(path)


def test_a_bomb_is_read_piece_by_piece(tmp_path: Path) -> None:
    url = bomb(tmp_path / "a.txt.zst", b"a" * (1 << 20), 1 << 12)  # 4 GB in 200 KB
    with open_decompressed(url) as stream:
        assert stream.read(10) == b"a" * 10
    batches = list(read_block(Block(0, bomb(tmp_path / "b.txt.zst", b"a" * (1 << 20), 64), "txt"), SETTINGS))
    assert sum(batch.dropped["too_long"] for batch in batches) == 1


@pytest.mark.parametrize(
    ("name", "read", "message"),
    [
        ("a.tsv.zst", read_lines, "a.tsv.zst, line 1: longer than"),
        ("a.po.zst", read_catalog, "a.po.zst: larger than"),
        ("a.html.zst", read_whole, "a.html.zst: larger than"),
    ],
)
def test_what_must_fit_in_memory_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: object, message: str
) -> None:
    monkeypatch.setattr(files, "LONGEST", 1 << 20)
    url = bomb(tmp_path / name, b"a" * (1 << 18), 5)
    with pytest.raises(InputError, match=message):
        read(url)  # type: ignore[operator]


class Remote(AbstractBufferedFile):  # type: ignore[misc]
    """A file as object stores give them."""

    content = "eins\nzwei ü\r\ndrei".encode()

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self.content[start:end]


def test_lines_of_a_remote_store_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(url: str) -> Remote:
        return Remote(MemoryFileSystem(), url, size=len(Remote.content))

    monkeypatch.setattr(files, "open_url", opened)
    assert read_lines("s3://bucket/a.txt") == ["eins", "zwei ü", "drei"]
    monkeypatch.setattr(files, "LONGEST", 6)
    with pytest.raises(InputError, match="line 2: longer than"):
        read_lines("s3://bucket/a.txt")


def test_an_element_without_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_units, "LONGEST", 1 << 20)
    (tmp_path / "a.tmx").write_text(f"<tmx><body><tu><tuv><seg>{'a' * (2 << 20)}")
    with pytest.raises(InputError, match="without a tag"):
        list(iterate_units(str(tmp_path / "a.tmx")))


def test_a_record_that_is_too_large_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "LONGEST", 4000)
    large = PAGE.format("x" * 5000).encode()
    (tmp_path / "a.warc").write_bytes(response("http://a", large) + response("http://b", PAGE.format("good").encode()))
    (batch,) = read_block(Block(0, str(tmp_path / "a.warc"), "warc"), SETTINGS)
    assert batch.texts == ["Hello there.", "Was it good?"] and batch.dropped == {"too_long": 1}


@pytest.mark.parametrize("name", ["../a.parquet", "/etc/passwd", "..", "", "a\\b", "a\nb", "sub/a.parquet"])
def test_a_manifest_stays_in_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a file in the folder"):
        Shard(index=0, name=name, rows=1, digest="")


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../b"])
def test_a_model_folder_stays_in_its_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": path}]))
    with pytest.raises(InputError, match=r"modules\.json: the module .* is outside of the folder"):
        read_modules(tmp_path)
