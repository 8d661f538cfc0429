"""What a path or URL means: plain names whatever their signs, and files inside of archives."""

import os
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from encoder.data.corpora import CorpusSettings, DataSettings, find_files
from mining.errors import InputError
from mining.files import atomic_text, read_lines
from mining.paths import compression_of, expand, extension, local_path, matching, open_url, own_name, require_file
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.readers.formats import cut_file, read_block


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
    ("data/d::c.txt", "data/d::c.txt"),
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
    with open_url(file.paths[0]) as stream:
        assert stream.read() == b"good day\tguten Tag\n"


def test_plain_globs_stay_plain_paths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    assert expand([f"{tmp_path}/*.txt"]) == [f"{tmp_path}/a.txt"]
    fsspec.filesystem("memory").pipe("/urls/a.txt", b"x")
    assert expand(["memory://urls/*.txt"]) == ["memory:///urls/a.txt"]


@pytest.mark.parametrize("name", ["~t.tsv", "d::c.tsv", "my [corpus]/de.txt", "what?.txt", "a*b.txt", "zip::x.txt"])
def test_an_existing_path_is_that_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with atomic_text(name) as stream:
        stream.write("x\n")
    assert (tmp_path / name).read_text() == "x\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert expand([name]) == matching(name) == [str(tmp_path / name)]
    assert read_lines(name) == ["x"]


def test_a_file_with_a_sign_wins_over_the_glob(tmp_path: Path) -> None:
    for name in ("a[b].txt", "ab.txt"):
        (tmp_path / name).write_text("x\n")
    assert matching(f"{tmp_path}/a[b].txt") == [f"{tmp_path}/a[b].txt"]
    assert matching(f"{tmp_path}/a[bc].txt") == [f"{tmp_path}/ab.txt"]


def test_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_path("~/a.txt") == f"{tmp_path}/a.txt"


def test_a_folder_leads_to_a_glob_that_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "my texts"
    folder.mkdir()
    with pytest.raises(InputError) as refused:
        expand([f"{folder}/"])
    (folder / "a.txt").write_text("x\n")
    (folder / "b.txt").write_text("x\n")
    (pasted,) = shlex.split(str(refused.value).partition("for example ")[2])
    assert f"'{pasted}'" in str(refused.value)
    assert expand([pasted]) == [f"{folder}/a.txt", f"{folder}/b.txt"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/null")])
def test_a_pipe_is_one_sentence(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe is a pipe or a device, not a file; write what it holds to a file"):
        expand([str(tmp_path / "pipe")])
    with pytest.raises(InputError, match="is a pipe or a device"):
        find_files(DataSettings(corpora=(CorpusSettings(path=str(tmp_path / "pipe"), format="text", langs=("en",)),)))


@pytest.mark.parametrize("url", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_what_only_this_process_can_read_is_no_file(url: str) -> None:
    with pytest.raises(InputError, match=f"{url} is a pipe or a device"):
        require_file(url)


EXTENSIONS = [("a.tsv", "tsv", None), ("x.y/a.TSV.gz", "tsv", "gz"), ("a", "", None), ("a.zst", "", "zst")]
EXTENSIONS += [(".tsv", "", None), ("a.warc.wet.gz", "wet", "gz"), ("zip://b.po.xz::c.zip", "po", "xz")]


@pytest.mark.parametrize(("url", "kind", "compression"), EXTENSIONS)
def test_extensions(url: str, kind: str, compression: str | None) -> None:
    assert (extension(url), compression_of(url)) == (kind, compression)
