"""Live progress of a stage, seen from outside: by the notes that finished work leaves on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from fsspec.core import url_to_fs
from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

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
    filesystem, path = url_to_fs(folder)

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
def shown(watch: Watch | None) -> Iterator[None]:
    """Show bars on stderr while the block runs; nothing without a `watch`."""
    if watch is None:
        yield
        return
    columns = [
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.fields[all]}"),
    ]
    speed = [TextColumn("{task.fields[unit]}"), TextColumn("{task.fields[speed]}"), TimeElapsedColumn()]
    stop = threading.Event()
    with Progress(*columns, *speed, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        thread = threading.Thread(target=_poll, args=(bars, watch, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _poll(bars: Progress, watch: Watch, stop: threading.Event) -> None:
    tasks: dict[str, TaskID] = {}
    at_start: dict[str, int] = {}
    while True:
        last = stop.is_set()
        try:
            phases = watch()
        except OSError:  # the stage clears its notes away when it is complete
            phases = []
        for phase in phases:
            if phase.done == 0 and not phase.sentences and phase.name not in tasks:
                continue
            if phase.name not in tasks:
                tasks[phase.name] = bars.add_task(phase.name, unit=phase.unit, all="?", speed="", total=phase.total)
                at_start[phase.name] = phase.sentences
            _show(bars, tasks[phase.name], phase, at_start[phase.name])
        if last:
            return
        stop.wait(_POLL_SECONDS)


def _show(bars: Progress, task: TaskID, phase: Phase, at_start: int) -> None:
    elapsed = bars.tasks[bars.task_ids.index(task)].elapsed or 0.0
    rate = (phase.sentences - at_start) / elapsed if elapsed else 0.0
    total = "?" if phase.total is None else f"{phase.total:,}"
    bars.update(task, completed=phase.done, total=phase.total, all=total, speed=f"{rate:,.0f} sentences/s")
    if phase.total is not None and phase.done >= phase.total:
        bars.stop_task(task)
