"""Progress bars: what they say of a stage that is over at once, that fails, and that continues an earlier run."""

import io
import threading
from contextlib import AbstractContextManager

import pytest
from rich.console import Console

from pipelines.runners import progress
from pipelines.runners.progress import Phase, shown


class Stage:
    """A stage whose phases are set by hand, and whose clock goes on when told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.phases: list[Phase] = []
        self.now = 100.0
        self.text = io.StringIO()
        self._looks = threading.Semaphore(0)
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(progress, "_POLL_SECONDS", 0.001)

    def bars(self) -> AbstractContextManager[None]:
        return shown(self._watch, Console(file=self.text, width=100))

    def _watch(self) -> list[Phase]:
        self._looks.release()
        return self.phases

    def _looked_at(self) -> None:
        """The bars are up to date when they look for the second time from now."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(3):
            self._looks.acquire()

    def seen(self, *phases: Phase, after: float) -> None:
        """The phases as they are so many seconds later, looked at."""
        self._looked_at()
        self.now += after
        self.phases = list(phases)
        self._looked_at()

    @property
    def lines(self) -> list[str]:
        return self.text.getvalue().splitlines()


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_nothing_is_left_of_a_stage_that_is_over_at_once(stage: Stage) -> None:
    with stage.bars():
        pass
    assert stage.text.getvalue() == ""


def test_speed_is_that_of_this_run(stage: Stage) -> None:
    stage.phases = [Phase("embed", 90, 100, 9000)]
    with stage.bars():
        stage.seen(Phase("embed", 91, 100, 9100), after=10)
    assert "10 sentences/s" in stage.lines[-1]


def test_a_failed_stage_does_not_look_complete(stage: Stage) -> None:
    with pytest.raises(OSError, match="full"), stage.bars():
        stage.seen(Phase("read", 1, 4, 10), Phase("write", 1, None, 10), after=1)
        raise OSError("full")
    read, write = stage.lines
    assert "1/4" in read
    assert "1/?" in write
    assert "━" not in write


def test_a_complete_stage_is_complete_even_if_its_notes_are_gone(stage: Stage) -> None:
    with stage.bars():
        stage.seen(Phase("write", 3, None, 10), Phase("embed", 2, 4, 10), after=1)
        stage.seen(after=1)
    write, embed = stage.lines
    assert "3/3" in write
    assert "4/4" in embed
