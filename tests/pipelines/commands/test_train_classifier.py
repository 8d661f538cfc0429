"""`twinlode train-classifier` holds the folder that it writes to."""

from pathlib import Path

import pytest

from mining.errors import InputError
from mining.locks import held_folder
from mining.temporary_files import temporary_name
from pipelines.clean import classifier_training
from pipelines.commands.train_classifier import command

SETTINGS = "data: {corpora: [{path: none.tsv, langs: [de, en]}]}\nlanguage_pairs: [de-en]\n"


def test_a_second_run_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(SETTINGS)
    with held_folder(str(tmp_path / "out")), pytest.raises(InputError, match="is in use by process"):
        command(tmp_path / "c.yaml", out=str(tmp_path / "out"))


def test_what_a_killed_run_left_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / temporary_name("trees-mining-1.txt.gz")).write_text("half")
    (tmp_path / "c.yaml").write_text(SETTINGS)
    seen: list[list[str]] = []

    def train(*arguments: object) -> None:
        seen.append(sorted(path.name for path in (tmp_path / "out").iterdir()))
        raise InputError("no bitext")

    monkeypatch.setattr(classifier_training, "train_classifier", train)
    with pytest.raises(InputError, match="no bitext"):
        command(tmp_path / "c.yaml", out=str(tmp_path / "out"))
    assert seen == [[".lock"]]
