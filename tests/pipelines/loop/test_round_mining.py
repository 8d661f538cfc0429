"""The mining half of a round: which errors of a language pair are a result, and which end the loop."""

from pathlib import Path
from typing import Any, NoReturn

import pytest

from encoder.settings import validate_settings
from mining.errors import InputError, UnreachablePrecision
from pipelines.datasets.manifest import open_dataset
from pipelines.loop import round_mining
from pipelines.loop.loop_settings import LoopSettings
from tests.pipelines.loop.corpora import write_world
from tests.pipelines.works import pairs_of, write_work


def mine_with(monkeypatch: pytest.MonkeyPatch, folder: Path, error: InputError) -> round_mining.MinedCorpora:
    def fail(*arguments: Any) -> NoReturn:
        raise error

    monkeypatch.setattr(round_mining, "mine", fail)
    settings = validate_settings(LoopSettings, write_world(folder), "loop.yaml")
    work = open_dataset(str(write_work(folder / "work", pairs_of(3)) / "src"), "sentences")
    text = round_mining.Text(dict.fromkeys(("de", "en"), work), {"de-en": round_mining.PairProbes(work, work)}, None)
    return round_mining._mine(settings, text, "de-en", work, "encoder", str(folder / "out"), 0.9, None)


def test_an_unreachable_precision_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = mine_with(monkeypatch, tmp_path, UnreachablePrecision("no threshold reaches it"))
    assert (found.pairs, found.refused) == (None, "no threshold reaches it")


def test_any_other_error_ends_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No space left on device"):
        mine_with(monkeypatch, tmp_path, InputError("x: cannot be written (No space left on device)"))
