"""Live progress of a stage, seen from outside: by the notes that finished work leaves on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar

from mining.paths import resolve
from pipelines.datasets.manifest import read_model

_POLL_SECONDS = 0.5
Model = TypeVar("Model", bound=BaseModel)


class Phase(NamedTuple):
    """How far one phase of a stage is; `total` is None where nobody can know it yet."""

    name: str
    done: int
    total: int | None
    sentences: int
    unit: str = "shards"


Watch = Callable[[], list[Phase]]


def finished_files(folder: str, model: type[Model]) -> Callable[[], list[Model]]:
    """A function that gives all notes (`*.json`) in a folder, reading each one once."""
    seen: dict[str, Model] = {}
    filesystem, path = resolve(folder)

    def notes() -> list[Model]:
        filesystem.invalidate_cache()
        for name in filesystem.ls(path, detail=False) if filesystem.isdir(path) else []:
            if (
                name.endswith(".json")
                and name not in seen
                and (note := read_model(filesystem.unstrip_protocol(name), model))
            ):
                seen[name] = note
        return list(seen.values())

    return notes


@contextmanager
def shown(watch: Watch | None, console: Console | None = None) -> Iterator[None]:
    """Show bars on stderr while the block runs; nothing without a `watch`, nor for a stage that is over at once."""
    if watch is None:
        yield
        return
    bars = _Bars(watch, console or Console(stderr=True))
    stop = threading.Event()
    thread = threading.Thread(target=bars.poll, args=(stop,), daemon=True)
    thread.start()
    complete = False
    try:
        yield
        complete = True
    finally:
        stop.set()
        thread.join()
        bars.close(complete)


class _Bars:
    """One bar for each phase that has begun."""

    def __init__(self, watch: Watch, console: Console) -> None:
        columns = [TextColumn("{task.description:<16}"), _Bar(), TextColumn("{task.completed:,.0f}/{task.fields[all]}")]
        speed = [TextColumn("{task.fields[unit]}"), TextColumn("{task.fields[speed]}"), TimeElapsedColumn()]
        self._progress = Progress(*columns, *speed, TimeRemainingColumn(), console=console)
        self._watch = watch
        self._tasks: dict[str, TaskID] = {}
        # What an earlier run did is not the work of this one.
        self._before = {phase.name: phase.sentences for phase in self._phases()}
        self._idle_until: dict[str, float] = {}
        self._begun = time.monotonic()

    def poll(self, stop: threading.Event) -> None:
        while not stop.wait(_POLL_SECONDS):
            self._update()

    def close(self, complete: bool) -> None:
        """The last state: all of a bar where the stage is complete, and where it stopped otherwise."""
        if time.monotonic() - self._begun >= _POLL_SECONDS or self._tasks:
            self._update()
        for task in self._progress.tasks if complete else ():
            done = task.completed if task.total is None else task.total  # notes of the last ones may be gone already
            self._progress.update(task.id, completed=done, total=done, all=f"{done:,.0f}")
        if self._tasks:
            self._progress.stop()

    def _phases(self) -> list[Phase]:
        try:
            return self._watch()
        except OSError:  # the stage clears its notes away when it is complete
            return []

    def _update(self) -> None:
        now = time.monotonic()
        for phase in self._phases():
            fresh = phase.sentences - self._before.get(phase.name, 0)
            if not fresh:
                self._idle_until[phase.name] = now
            if phase.done or phase.sentences:
                self._show(phase, fresh, now - self._idle_until.get(phase.name, self._begun))

    def _show(self, phase: Phase, fresh: int, seconds: float) -> None:
        if not self._tasks:
            self._progress.start()
        if phase.name not in self._tasks:
            self._tasks[phase.name] = self._progress.add_task(
                phase.name, total=None, unit=phase.unit, all="?", speed=""
            )
        task = self._tasks[phase.name]
        total = "?" if phase.total is None else f"{phase.total:,}"
        speed = f"{fresh / seconds:,.0f} sentences/s" if fresh and seconds else ""
        self._progress.update(task, completed=phase.done, total=phase.total, all=total, speed=speed)
        if phase.total is not None and phase.done >= phase.total:
            self._progress.stop_task(task)


class _Bar(BarColumn):
    """A bar that is empty, not full, while nobody knows how much there is to do."""

    def render(self, task: Task) -> ProgressBar:
        bar = super().render(task)
        if task.total is None:
            bar.total, bar.completed, bar.pulse = 1.0, 0.0, False
        return bar
