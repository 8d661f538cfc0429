"""No output is an input, or another output."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.places import check_places, require_folder, work_beside


@pytest.mark.parametrize(
    ("outputs", "inputs", "message"),
    [
        (["d.tsv"], ["d.tsv"], "overwrite the input"),
        (["./sub/../d.tsv"], ["d.tsv"], "overwrite the input"),
        (["link.tsv"], ["d.tsv"], "overwrite the input"),
        (["file://{here}/d.tsv"], ["d.tsv"], "overwrite the input"),
        (["d*.tsv"], ["d00001.tsv"], "overwrite the input"),
        (["memory://d.tsv"], ["memory://d.tsv"], "overwrite the input"),
        (["p.tsv", "p.tsv"], ["d.tsv"], "two outputs have the same name"),
        (["p.tsv", "sub/../p.tsv"], ["d.tsv"], "two outputs have the same name"),
        (["d.tsv/p.tsv"], ["e.tsv"], "cannot be written"),
    ],
)
def test_clashes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: list[str], inputs: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "d.tsv").write_text("kept")
    (tmp_path / "link.tsv").symlink_to("d.tsv")
    with pytest.raises(InputError, match=message):
        check_places([url.replace("{here}", str(tmp_path)) for url in outputs], inputs, shards=True)
    assert (tmp_path / "d.tsv").read_text() == "kept"


def test_other_names_are_fine_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_places(["p.tsv", "p-*.tsv", "new/q.tsv"], ["d.tsv"], shards=True)
    check_places(["a*b/p.tsv"], ["d.tsv"])
    assert not list(tmp_path.iterdir())


def test_a_name_of_many_files_is_refused_where_one_is_written() -> None:
    with pytest.raises(InputError, match=r"new/x-\*\.tsv: one file is written"):
        check_places(["new/x-*.tsv"], [])


@pytest.mark.parametrize(("out", "work"), [("a/p.tsv.gz", "a/p.work"), ("x-*.tsv", "x-N.work"), (".tsv", "mine.work")])
def test_work_is_beside_the_output(out: str, work: str) -> None:
    assert work_beside(out) == work


@pytest.mark.parametrize("name", ["a file", "a file/inside", "a file/deep/inside"])
def test_a_file_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(InputError, match=r"a file is a file; a folder is needed"):
        require_folder(str(tmp_path / name))


def test_folders_may_be_new(tmp_path: Path) -> None:
    require_folder(str(tmp_path))
    require_folder(str(tmp_path / "new" / "folder"))
    require_folder("memory://anything")
    assert not list(tmp_path.iterdir())


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(InputError, match=r"cannot be written \(no permission in"):
        require_folder(str(tmp_path / "new"))


def test_compare_keeps_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("compare.json").write_text("{}")
    result = CliRunner().invoke(app, ["compare", "compare.json", "--out", "."])
    assert "compare.json: this output would overwrite the input compare.json" in str(result.exception)
    assert Path("compare.json").read_text() == "{}"
