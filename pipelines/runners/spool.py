"""Grouping by key in one process, as the engine's shuffle does it on many, with a file in place of memory."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from mining.paths import local_path
from pipelines.datasets.work import Work

Key = TypeVar("Key", bound=Any)  # that can be sorted
Value = TypeVar("Value")
_MEMORY = 64 << 20  # less than this never goes to the disk


class Spool(Generic[Key, Value]):
    """Values by key, in one file that has no name and goes with the process."""

    spooled: ClassVar[int] = 0  # bytes of all spools of this process: what an engine would shuffle

    def __init__(self, work: Work | None = None) -> None:
        local = None if work is None else local_path(work.scratch())
        folder = local if local is not None and Path(local).is_dir() else None
        self._file = tempfile.SpooledTemporaryFile(_MEMORY, dir=folder)  # noqa: SIM115 - closed by __exit__
        self._places: dict[Key, list[int]] = {}

    def __enter__(self) -> Spool[Key, Value]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, items: Iterable[tuple[Key, Value]]) -> None:
        for key, value in items:
            self._places.setdefault(key, []).append(self._file.tell())
            pickle.dump(value, self._file, pickle.HIGHEST_PROTOCOL)
            Spool.spooled += self._file.tell() - self._places[key][-1]

    def groups(self) -> Iterator[tuple[Key, Iterable[Value]]]:
        """Every key with its values, by key; nothing may be added any more.

        Values are read as they are asked for, any number of times, as those of an engine are.
        """
        for key in sorted(self._places):
            yield key, _Values(self, self._places[key])

    def value(self, place: int) -> Value:
        """What is at a place of the file."""
        self._file.seek(place)
        found: Value = pickle.load(self._file)
        return found


class _Values(Iterable[Value]):
    """The values of a key."""

    def __init__(self, spool: Spool[Any, Value], places: Sequence[int]) -> None:
        self._spool, self._places = spool, places

    def __iter__(self) -> Iterator[Value]:
        return map(self._spool.value, self._places)
