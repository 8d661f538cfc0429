"""Files inside of archives keep the name of the archive, from the glob to the reader."""

import zipfile
from pathlib import Path

import fsspec
import pytest

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from encoder.urls import own_name
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.readers.formats import cut_file, expand, read_block


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "things.whl"
    with zipfile.ZipFile(path, "w") as whl:
        whl.writestr("po/en-de.tsv", "good day\tguten Tag\n")
        whl.writestr("po/b.txt", "one\ntwo\n")
        whl.writestr("po/a.txt", "three\n")
    return path


NAMES = [
    ("zip://po/en-de.po::x/y.whl", "zip://po/en-de.po"),
    ("simplecache::gs://bucket/a.txt.gz", "gs://bucket/a.txt.gz"),
    ("data/a.txt", "data/a.txt"),
]


@pytest.mark.parametrize(("url", "name"), NAMES)
def test_own_name(url: str, name: str) -> None:
    assert own_name(url) == name


def test_corpora_in_archives_are_read(archive: Path) -> None:
    found = expand([f"zip://po/*.txt::{archive}", f"zip://po/a.txt::{archive}"])
    assert found == [f"zip://po/{name}.txt::{archive}" for name in ("a", "b")]
    settings = ReadSettings(lang="en")
    blocks = [block for url in found for block in cut_file(url, settings, 1 << 20, 0)]
    assert [block.format for block in blocks] == ["txt", "txt"]
    assert [list(batch.texts) for block in blocks for batch in read_block(block, settings)] == [
        ["three"],
        ["one", "two"],
    ]


def test_training_files_in_archives_are_found(archive: Path) -> None:
    data = DataSettings(corpora=(CorpusSettings(path=f"zip://po/*.tsv::{archive}"),))
    (file,) = find_files(data)
    assert (file.format, file.langs) == ("tsv", ("en", "de"))
    with fsspec.open(file.paths[0], "rb") as stream:
        assert stream.read() == b"good day\tguten Tag\n"


def test_plain_globs_stay_plain_paths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    assert expand([f"{tmp_path}/*.txt"]) == [f"{tmp_path}/a.txt"]
    fsspec.filesystem("memory").pipe("/urls/a.txt", b"x")
    assert expand(["memory://urls/*.txt"]) == ["memory:///urls/a.txt"]
