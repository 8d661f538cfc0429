"""What a killed run leaves behind, and what a resumed one refuses."""

import errno
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from encoder.checkpoint import load_checkpoint
from encoder.models import BagSettings
from encoder.training.observation import Quiet, RunLog, unobserved
from encoder.training.schedule import Position
from encoder.training.session import train
from encoder.training.state import STATE_FILE, read_facts
from encoder.training.validation import P_AT_1
from mining.errors import InputError
from mining.files import restore_folder
from tests.encoder.fixtures import write_checkpoint
from tests.encoder.training.conftest import make_settings


def test_other_data_is_refused(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    secret = tmp_path / "secret.txt"
    secret.write_text(corpus.read_text().split("\t")[0] + "\n")
    train(make_settings(corpus, limits={"steps": 2}), out, unobserved, exclude=(str(secret),))
    longer = make_settings(corpus, limits={"steps": 3})
    for other in ({}, {"exclude": (str(secret),), "strict": True}):
        with pytest.raises(InputError, match="holds a run on other data: a corpus, --exclude or --strict has changed"):
            train(longer, out, unobserved, **other)
    assert train(longer, out, unobserved, exclude=(str(secret),)).result.position.step == 3
    with corpus.open("a") as lines:
        lines.write("one more\tnoch eine\n")
    with pytest.raises(InputError, match="on other data"):
        train(longer, out, unobserved, exclude=(str(secret),))


class Noting(Quiet):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, message: str) -> None:
        self.notes.append(message)


def test_a_run_that_is_made_longer_says_so(corpus: Path, tmp_path: Path) -> None:
    out, watch = tmp_path / "run", Noting()

    def go_on(**changes: Any) -> int:
        return train(make_settings(corpus, **changes), out, lambda folder: watch).result.position.step

    assert go_on(limits={"steps": 2}) == 2 and go_on(limits={"steps": 2}) == 2
    assert watch.notes == [], "nothing has changed"
    assert go_on(limits={"steps": 3, "minutes": 5}, save_every=7) == 3
    assert watch.notes == [
        "goes on from step 2 with another limits.minutes (none, now 5.0), limits.steps (2, now 3), save_every (1000, "
        "now 7); from here the learning rate falls by the plan of a run of this length"
    ]
    assert go_on(limits={"steps": 3, "minutes": 5}) == 3
    assert watch.notes[1:] == ["goes on from step 3 with another save_every (7, now 1000)"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"evaluation": {"pairs": 1}}, r"another evaluation\.pairs"),
        ({"limits": {"steps": 2, "clock": "cpu"}}, r"another limits\.clock \(wall, now cpu\)"),
        ({"optimizer": {"lr": 0.5}}, r"another optimizer\.lr \(.*, now 0\.5\)"),
    ],
)
def test_what_would_be_mixed_is_refused(changes: dict[str, Any], told: str, corpus: Path, tmp_path: Path) -> None:
    asked = {"limits": {"steps": 2}, "evaluation": {"pairs": 2}}
    train(make_settings(corpus, **asked), tmp_path, unobserved)
    with pytest.raises(InputError, match=f"holds a run with {told}"):
        train(make_settings(corpus, **asked | changes), tmp_path, unobserved)


def test_fixed_limits_are_refused_like_all_else(corpus: Path, tmp_path: Path) -> None:
    train(make_settings(corpus, limits={"steps": 2}), tmp_path, unobserved)
    longer = make_settings(corpus, limits={"steps": 3})
    with pytest.raises(InputError, match=r"holds a run with another limits\.steps \(2, now 3\); train into another"):
        train(longer, tmp_path, unobserved, fixed_limits=True)


def test_settings_that_came_later_do_not_matter(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(make_settings(corpus, limits={"steps": 2}), tmp_path / "run", unobserved)
    facts = read_facts(tmp_path / "run" / STATE_FILE)
    del facts["settings"]["batch"]["hard_negatives"]  # as a run of an earlier version
    monkeypatch.setattr("encoder.training.session.read_facts", lambda path: facts)
    train(make_settings(corpus, limits={"steps": 3}), tmp_path / "run", unobserved)


def test_a_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n{"step": 3, "lo')
    log = RunLog(tmp_path, Console(file=StringIO()))
    log.resumed(Position(2, 10, 1.0))
    log.evaluated(Position(2, 10, 1.0), P_AT_1, 0.5, 0.5)
    log.close()
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2, 2]


def test_a_log_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    log = RunLog(tmp_path, Console(file=StringIO()))
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(InputError, match=r"metrics\.jsonl: cannot be written"):
        log.evaluated(Position(1, 1, 1.0), P_AT_1, 0.5, 0.5)
    log.close()


def test_a_swap_that_fails_puts_the_old_checkpoint_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8))
    rename = Path.rename

    def fail_to_place(self: Path, target: Path) -> Path:
        if self.suffix == ".tmp":
            raise OSError(errno.EIO, "input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_to_place)
    with pytest.raises(InputError, match="an earlier checkpoint there is intact"):
        write_checkpoint(tmp_path / "best", BagSettings(dim=12))
    assert load_checkpoint(folder).model.dim == 8


def test_a_kill_between_the_renames_is_made_good(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "best", BagSettings(dim=8))
    folder.rename(tmp_path / ".best.123.old")
    restore_folder(folder)
    assert load_checkpoint(folder).model.dim == 8
    write_checkpoint(tmp_path / ".best.456.old", BagSettings(dim=12))
    restore_folder(folder)
    assert load_checkpoint(folder).model.dim == 8 and not (tmp_path / ".best.456.old").exists()
