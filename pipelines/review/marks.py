"""Marks, on disk before the next pair is shown: a line for each key press, appended and never rewritten."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mining.errors import InputError

MARKS = "marks.jsonl"
Verdict = Literal["right", "wrong", "skip"]


class Mark(BaseModel):
    """One key press; `undo` takes back the last mark that is still in force."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pair: str
    mark: Literal["right", "wrong", "skip", "undo"]
    at: str


class Marks:
    """The marks of one review, shared by the threads of its server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        _mend(path)
        self._history = _read(path)

    def add(self, pair: str, verdict: Verdict) -> None:
        """Keep a verdict; one on the same pair before it is replaced."""
        with self._lock:
            self._append(Mark(pair=pair, mark=verdict, at=_now()))

    def undo(self) -> str | None:
        """Take the last verdict back; returns the pair it was on."""
        with self._lock:
            standing = self._standing()
            if not standing:
                return None
            pair = standing[-1].pair
            self._append(Mark(pair=pair, mark="undo", at=_now()))
            return pair

    def verdicts(self) -> dict[str, Verdict]:
        """What stands, by pair, in the order of marking."""
        with self._lock:
            return {mark.pair: mark.mark for mark in self._standing() if mark.mark != "undo"}

    def _standing(self) -> list[Mark]:
        standing: list[Mark] = []
        for mark in self._history:
            if mark.mark == "undo":
                if standing:
                    standing.pop()
            else:
                standing.append(mark)
        return standing

    def _append(self, mark: Mark) -> None:
        whole = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("ab") as stream:
                stream.write(mark.model_dump_json().encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            with suppress(OSError):  # half a line would spoil the next mark
                os.truncate(self.path, whole)
            raise InputError(f"{self.path}: the mark is not kept ({error.strerror})") from None
        self._history.append(mark)


def _read(path: Path) -> list[Mark]:
    marks = []
    for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else [], 1):
        try:
            marks.append(Mark.model_validate_json(line))
        except ValidationError:
            raise InputError(f"{path}, line {number}: not a mark; mend or remove that line") from None
    return marks


def _mend(path: Path) -> None:
    """Cut off half a line that a crash left at the end: that mark was never confirmed."""
    if path.exists():
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            with path.open("r+b") as stream:
                stream.truncate(data.rfind(b"\n") + 1)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
