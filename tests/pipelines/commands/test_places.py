"""No output is an input, or another output."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.commands.places import check_places


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
        check_places([url.replace("{here}", str(tmp_path)) for url in outputs], inputs)
    assert (tmp_path / "d.tsv").read_text() == "kept"


def test_other_names_are_fine_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_places(["p.tsv", "p-*.tsv", "new/q.tsv"], ["d.tsv"])
    assert not list(tmp_path.iterdir())
