"""A filesystem that counts what is opened, read, written and created: local files as if they were those of a store."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import fsspec
from fsspec.implementations.local import LocalFileOpener, LocalFileSystem

from pipelines.runners.spool import Spool

PROTOCOL = "counted"


class Traffic(NamedTuple):
    """Files opened and created, bytes that went through them, and bytes that an engine would shuffle."""

    opens: int = 0
    objects: int = 0
    read: int = 0
    written: int = 0
    shuffled: int = 0

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(*(ours - theirs for ours, theirs in zip(self, other, strict=True)))


class CountedFiles(LocalFileSystem):
    """`counted:///path` is the file `/path`."""

    protocol = PROTOCOL
    counts: ClassVar[dict[str, int]] = dict.fromkeys(("opens", "objects", "read", "written"), 0)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix(f"{PROTOCOL}://")))

    def unstrip_protocol(self, name: str) -> str:
        return f"{PROTOCOL}://{name}"

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **kwargs: Any) -> _CountedFile:
        self.counts["opens"] += 1
        self.counts["objects"] += "w" in mode
        return _CountedFile(path, mode, fs=self, **kwargs)


class _CountedFile(LocalFileOpener):
    def read(self, size: int = -1) -> bytes:
        data: bytes = self.f.read(size)
        CountedFiles.counts["read"] += len(data)
        return data

    def read1(self, size: int = -1) -> bytes:
        data: bytes = self.f.read1(size)
        CountedFiles.counts["read"] += len(data)
        return data

    def write(self, data: Any) -> int:
        CountedFiles.counts["written"] += memoryview(data).nbytes
        return int(self.f.write(data))


fsspec.register_implementation(PROTOCOL, CountedFiles, clobber=True)


def traffic() -> Traffic:
    """Of this process so far."""
    return Traffic(**CountedFiles.counts, shuffled=Spool.spooled)
