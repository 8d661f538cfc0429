"""What a run tells while it trains."""

from contextlib import closing
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console

from encoder.training.observation import RunLog
from encoder.training.schedule import Position
from encoder.training.trainer import StepReport
from encoder.training.validation import P_AT_1


def test_the_display_shows_how_training_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=count(step=2.0).__next__)  # two seconds between any two looks at it
    monkeypatch.setattr("encoder.training.observation.time", clock)
    screen = StringIO()
    console = Console(file=screen, width=200)
    with closing(RunLog(tmp_path, console)) as log:
        log.evaluated(Position(5, 1000, 30.0), P_AT_1, 0.875, 0.9)
        log.stepped(StepReport(Position(10, 4000, 60.0), 0.25, 0.01, torch.tensor(1.25), {}, 3000, 90_000))
        console.print(log._bar)
    shown = screen.getvalue().splitlines()[0]
    for figure in ("25%", "step 10 ", "loss 1.250 ", "1,500 pairs/s", "45,000 tokens/s", "P@1 87.5 ", "3.0 min left"):
        assert figure in shown


@pytest.mark.parametrize(("done", "shown"), [(0.5, " 25% step 1 "), (1.0, "100% step 2 ")])
def test_the_display_ends_where_training_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: float, shown: str
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 10.0)  # all within the second in which nothing more is shown
    monkeypatch.setattr("encoder.training.observation.time", clock)
    screen = StringIO()
    log = RunLog(tmp_path, Console(file=screen, width=200))
    for step, progress in ((1, 0.25), (2, done)):
        log.stepped(StepReport(Position(step, 4000, 60.0), progress, 0.01, torch.tensor(1.25), {}, 3000, 90_000))
    log.close()
    assert shown in screen.getvalue()
