"""A dataset in the making: the scratch folder that makes each stage resumable.

dataset/_work/
  request.json    what is made; a folder begun for another request is refused
  lock            held by the process that makes it
  shards/         notes on finished shards: only a shard with a note is skipped on the next run
  ...             scratch files of the stage
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from mining.errors import InputError
from mining.locks import held
from mining.paths import exists, resolve
from pipelines.datasets.contents import content_hash
from pipelines.datasets.manifest import (
    MANIFEST,
    WORK,
    Counters,
    Dataset,
    Manifest,
    Request,
    Shard,
    changed,
    fingerprint,
    join,
    read_model,
    write_model,
)

REQUEST = "request.json"
_TEMPORARY = ".tmp"  # the end of the name of a file that is being written
_ATTEMPT_DIGITS = 8
_ATTEMPT = re.compile(rf"(?<=\d{{5}}-)[0-9a-f]{{{_ATTEMPT_DIGITS}}}(?=\.\w+$)")


@dataclass(frozen=True)
class Work:
    """A dataset in the making: where its shards and scratch files go, and which shards are finished."""

    url: str
    request: Request
    folder: tuple[str, ...] = ()  # of its scratch files

    def scratch(self, *names: str) -> str:
        return scratch(self.url, *self.folder, *names)

    def inside(self, name: str) -> Work:
        """The same with scratch files of its own."""
        return replace(self, folder=(*self.folder, name))

    def place(self, name: str) -> str:
        return join(self.url, name)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the dataset here and nowhere else at the same time."""
        with held(self.scratch("lock"), self.url):
            yield

    def sealed(self, shard: Shard) -> Shard:
        """The shard with the checksum of its file."""
        return shard.model_copy(update={"checksum": content_hash(self.place(shard.name))})

    def note(self, shard: Shard) -> Shard:
        """Record that the shard is in place; only then is it skipped on the next run."""
        shard = self.sealed(shard)
        write_model(self.scratch("shards", f"{shard.index:05d}.json"), shard)
        return shard

    def finished(self, index: int) -> Shard | None:
        return read_model(self.scratch("shards", f"{index:05d}.json"), Shard)

    def complete(
        self, shards: Iterable[Shard], counters: Counters, measures: Mapping[str, float] | None = None
    ) -> Dataset:
        """Write the manifest, which makes this a dataset, and clear the scratch files away."""
        shards = sorted(shards, key=lambda shard: shard.index)
        own = fingerprint(self.request.kind, *[f"{shard.rows} {shard.digest}" for shard in shards])
        manifest = Manifest(
            request=self.request, shards=shards, counters=counters, measures=dict(measures or {}), fingerprint=own
        )
        write_model(join(self.url, MANIFEST), manifest)
        self.clean(shards)
        return Dataset(self.url, manifest)

    def clean(self, shards: Iterable[Shard]) -> None:
        """Leave what the manifest names, and nothing else."""
        self._remove_other_attempts(shards)
        self.abandon()

    def _remove_other_attempts(self, shards: Iterable[Shard]) -> None:
        """Files of attempts that were lost, or came second, and what a killed one had begun to write."""
        chosen = {found[0] for shard in shards if (found := _ATTEMPT.search(shard.name))}
        filesystem, path = resolve(self.url)
        for name in filesystem.ls(path, detail=False):
            found = _ATTEMPT.search(name)
            if name.endswith(_TEMPORARY) or (found and found[0] not in chosen):
                with suppress(FileNotFoundError):  # a late attempt has just given it its name, or removed it
                    filesystem.rm_file(name)

    def abandon(self) -> None:
        """Remove the scratch files, after which the folder takes another request."""
        _clear_work(self.url)


def scratch(folder: str, *names: str) -> str:
    return join(folder, WORK, *names)


def is_complete(folder: str) -> bool:
    """Whether another worker has completed the dataset already."""
    return exists(join(folder, MANIFEST))


def new_name(index: int, extension: str, prefix: str = "") -> str:
    """A name for the file of a shard that no other attempt to make it has: two may differ in their last bits."""
    return f"{prefix}{index:05d}-{uuid.uuid4().hex[:_ATTEMPT_DIGITS]}.{extension}"


def begin(url: str, request: Request) -> Work | Dataset:
    """Start or continue to make a dataset; the finished one when the same request was completed before.

    A folder that holds the work of another request is refused with what changed: nothing is deleted or mixed.
    """
    manifest = read_model(join(url, MANIFEST), Manifest)
    if manifest is not None:
        _refuse_other(url, manifest.request, request)
        if exists(join(url, WORK)):  # a run was killed between its manifest and its cleaning
            Work(url, request).clean(manifest.shards)
        return Dataset(url, manifest)
    started = read_model(join(url, WORK, REQUEST), Request)
    if started is not None:
        _refuse_other(url, started, request)
        return Work(url, request)
    filesystem, path = resolve(url)
    if filesystem.isfile(path):
        raise InputError(f"{url} is a file; the output must be a folder")
    if filesystem.isdir(path) and any(not _is_temporary(name) for name in filesystem.ls(path, detail=False)):
        raise InputError(f"{url} holds other files; give an empty or new folder for the dataset")
    work = Work(url, request)
    write_model(work.scratch(REQUEST), request)
    return work


def place_for(url: str, request: Request) -> str:
    """The folder `url`, or one beside it where that holds the work of another request, always the same for this one."""
    known = request_of(url)
    return url if known is None or not changed(known, request) else f"{url}-{identity(request)[:8]}"


def request_of(url: str) -> Request | None:
    """What a folder was made for, complete or not."""
    manifest = read_model(join(url, MANIFEST), Manifest)
    return manifest.request if manifest is not None else read_model(join(url, WORK, REQUEST), Request)


def identity(request: Request) -> str:
    """A hash of what a request means: names of inputs are no part of it."""
    unnamed = [given.model_copy(update={"name": ""}) for given in request.inputs]
    return fingerprint(request.model_copy(update={"inputs": unnamed}))


def _is_temporary(path: str) -> bool:
    return path.endswith(_TEMPORARY) or path.rstrip("/").endswith(f"/{WORK}")


def _clear_work(url: str) -> None:
    filesystem, path = resolve(join(url, WORK))
    with suppress(FileNotFoundError):  # another run may have cleared it just now
        filesystem.rm(path, recursive=True)


def _refuse_other(url: str, old: Request, new: Request) -> None:
    changes = changed(old, new)
    if changes:
        raise InputError(
            f"{url} holds the work of another configuration ({'; '.join(changes[:5])}); "
            "delete that folder or choose another one (the whole work folder, if other stages are of it, too), or go "
            "back to the old settings to continue it",
            code="T07",
        )
