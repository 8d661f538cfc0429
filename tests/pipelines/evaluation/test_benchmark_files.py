"""Files of benchmarks: compression, names, alignment, hashes."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.evaluation.benchmark_files import DataFolder, Texts, require_aligned
from tests.pipelines.evaluation.toys import write


def test_compressed_files_read_and_hash_like_plain_ones(tmp_path: Path) -> None:
    write(tmp_path, "plain/a.txt", "eins", "zwei")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed/a.txt.xz").write_bytes(lzma.compress(b"eins\nzwei\n"))
    folders = [DataFolder(tmp_path / "plain"), DataFolder(tmp_path / "packed")]
    first, second = (folder.texts("a.txt", "de") for folder in folders)
    assert first == second
    assert folders[0].digest() == folders[1].digest() != DataFolder(tmp_path).digest()
    of_a_suite = DataFolder(tmp_path / "plain", "eval/plain/")
    assert of_a_suite.texts("a.txt", "de").name == "eval/plain/a.txt"
    assert of_a_suite.digest() == folders[0].digest()


def test_another_line_is_another_hash() -> None:
    assert Texts("a", ["x", "y"]).digest != Texts("a", ["xy"]).digest != Texts("a", ["x", "z"]).digest


def test_languages_in_file_names(tmp_path: Path) -> None:
    for name in ("q.de.txt", "q.zh_Hans.txt", "q.readme.txt", "other.de.txt"):
        write(tmp_path, name, "x")
    data = DataFolder(tmp_path)
    assert data.languages("q.{lang}.txt") == {"de": "q.de.txt", "zh_Hans": "q.zh_Hans.txt"}
    write(tmp_path, "q.de.txt.old", "x")
    with pytest.raises(InputError, match="both fit"):
        data.languages("*.{lang}.txt")
    with pytest.raises(InputError, match="no file is called like"):
        data.languages("z.{lang}.txt")
    with pytest.raises(InputError, match=r"must have \{lang\}"):
        data.languages("z.txt")


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    write(tmp_path, "empty.txt")
    write(tmp_path, "one.tsv", "a\tb", "c")
    data = DataFolder(tmp_path)
    with pytest.raises(InputError, match=r"missing\.txt: no such file"):
        data.texts("missing.txt", "de")
    with pytest.raises(InputError, match=r"empty\.txt: the file is empty; there is nothing to evaluate for de"):
        data.texts("empty.txt", "de")
    with pytest.raises(InputError, match=r"one\.tsv, line 2: 1 tab-separated fields, but a line is two things"):
        list(data.rows("one.tsv", 2, "a line is two things"))
    with pytest.raises(InputError, match="no such folder"):
        DataFolder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="a has 1 lines, but b has 2"):
        require_aligned(tmp_path, Texts("a", ["x"]), Texts("b", ["x", "y"]))
