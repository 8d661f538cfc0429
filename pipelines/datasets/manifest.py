"""Datasets: a folder of numbered shards and one manifest, and the work folder that makes each stage resumable.

dataset/
  manifest.json       written last: a folder without it is not a dataset
  00000.parquet ...   shards, each moved into place when it is whole
  _work/              only while the stage runs: its request, its notes on finished shards, its scratch files
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import xxhash
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from mining.errors import InputError
from mining.files import atomic_writer
from mining.paths import open_url, resolve

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
WORK = "_work"

Kind = Literal["sentences", "vectors", "graph", "pairs"]
Model = TypeVar("Model", bound=BaseModel)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Counters(_Record):
    """What became of the rows of a stage: `rows_in == kept + sum(dropped.values())`."""

    rows_in: int = 0
    kept: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)

    def __add__(self, other: Counters) -> Counters:
        dropped = dict(sorted((Counter(self.dropped) + Counter(other.dropped)).items()))
        return Counters(rows_in=self.rows_in + other.rows_in, kept=self.kept + other.kept, dropped=dropped)


class Shard(_Record):
    """A finished shard: its file name within the dataset, its rows, and a hash of what is in it."""

    index: int
    name: str
    rows: int
    digest: str
    counters: Counters = Counters()


class Input(_Record):
    """What a stage read: a file by size and date (or the store's own tag), a dataset or encoder by its fingerprint."""

    name: str
    fingerprint: str


class Request(_Record):
    """What a stage was asked to make; the same request over the same inputs makes the same dataset."""

    kind: Kind
    configuration: dict[str, JsonValue]
    inputs: list[Input]


class Manifest(_Record):
    """Everything about a complete dataset."""

    schema_version: int = SCHEMA_VERSION
    request: Request
    shards: list[Shard]
    counters: Counters
    measures: dict[str, float] = Field(default_factory=dict)  # of the result, such as the recall of a graph
    fingerprint: str

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)


@dataclass(frozen=True)
class Dataset:
    """A complete dataset on disk or in a store."""

    url: str
    manifest: Manifest

    @property
    def rows(self) -> int:
        return self.manifest.rows

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    @property
    def shards(self) -> list[Shard]:
        return self.manifest.shards

    def shard_url(self, shard: Shard) -> str:
        return join(self.url, shard.name)

    def as_input(self) -> Input:
        return Input(name=self.url, fingerprint=self.fingerprint)


def join(folder: str, *names: str) -> str:
    return "/".join([folder.rstrip("/"), *names])


def fingerprint(*values: str | bytes | memoryview | BaseModel | JsonValue) -> str:
    """A stable hash of texts, bytes, models and plain values: 16 hexadecimal digits."""
    digest = xxhash.xxh3_64()
    for value in values:
        if isinstance(value, BaseModel):
            value = value.model_dump(mode="json")
        data = value if isinstance(value, bytes | memoryview) else json.dumps(value, sort_keys=True).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def file_input(url: str) -> Input:
    """A file by its size and its date of change, or the tag that the store keeps instead."""
    filesystem, path = resolve(url)
    try:
        info = filesystem.info(path)
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    tags = [str(info[key]) for key in ("etag", "ETag", "md5Hash", "mtime", "LastModified", "created") if info.get(key)]
    return Input(name=url, fingerprint=fingerprint(info["size"], tags[0] if tags else ""))


def open_dataset(url: str, kind: Kind) -> Dataset:
    """The complete dataset at `url`; anything else is an error that says what is there instead."""
    manifest = read_model(join(url, MANIFEST), Manifest)
    if manifest is None:
        unfinished = read_model(join(url, WORK, "request.json"), Request) is not None
        state = "is unfinished; run the command that makes it again" if unfinished else "has no manifest.json"
        raise InputError(f"{url}: the dataset {state}")
    if manifest.schema_version != SCHEMA_VERSION:
        raise InputError(f"{url}: schema version {manifest.schema_version}, this program reads {SCHEMA_VERSION}")
    if manifest.request.kind != kind:
        raise InputError(f"{url} holds {manifest.request.kind}; {kind} are needed")
    return Dataset(url, manifest)


def check_input(dataset: Dataset, source: Dataset) -> None:
    """Refuse a dataset that was made from another state of `source` than the present one."""
    known = [given.fingerprint for given in dataset.manifest.request.inputs]
    if source.fingerprint not in known:
        raise InputError(
            f"{dataset.url} was made from other {source.manifest.request.kind} (fingerprint {', '.join(known)}) than "
            f"{source.url} (fingerprint {source.fingerprint}); make it again from these"
        )


@dataclass(frozen=True)
class Work:
    """A dataset in the making: where its shards and scratch files go, and which shards are finished."""

    url: str
    request: Request

    def scratch(self, *names: str) -> str:
        return join(self.url, WORK, *names)

    def shard_url(self, index: int, extension: str) -> str:
        return join(self.url, shard_name(index, extension))

    def note(self, shard: Shard) -> Shard:
        """Record that the shard is in place; only then is it skipped on the next run."""
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
        self.abandon()
        return Dataset(self.url, manifest)

    def abandon(self) -> None:
        """Remove the scratch files, after which the folder takes another request."""
        _clear_work(self.url)


def shard_name(index: int, extension: str) -> str:
    return f"{index:05d}.{extension}"


def begin(url: str, request: Request) -> Work | Dataset:
    """Start or continue to make a dataset; the finished one when the same request was completed before.

    A folder that holds the work of another request is refused with what changed: nothing is deleted or mixed.
    """
    manifest = read_model(join(url, MANIFEST), Manifest)
    if manifest is not None:
        _refuse_other(url, manifest.request, request)
        _clear_work(url)  # of a run that was killed between its manifest and its cleaning
        return Dataset(url, manifest)
    started = read_model(join(url, WORK, "request.json"), Request)
    if started is not None:
        _refuse_other(url, started, request)
        return Work(url, request)
    filesystem, path = resolve(url)
    if filesystem.isfile(path):
        raise InputError(f"{url} is a file; the output must be a folder")
    if filesystem.isdir(path) and any(not _is_temporary(name) for name in filesystem.ls(path, detail=False)):
        raise InputError(f"{url} holds other files; give an empty or new folder for the dataset")
    work = Work(url, request)
    write_model(work.scratch("request.json"), request)
    return work


def _is_temporary(path: str) -> bool:
    return path.endswith(".tmp") or path.rstrip("/").endswith(f"/{WORK}")


def _clear_work(url: str) -> None:
    filesystem, path = resolve(join(url, WORK))
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def _refuse_other(url: str, old: Request, new: Request) -> None:
    changes = changed(old, new)
    if changes:
        raise InputError(
            f"{url} holds the work of another configuration ({'; '.join(changes[:5])}); "
            "delete that folder or choose another one, or go back to the old settings to continue it"
        )


def changed(old: Request, new: Request) -> list[str]:
    """What differs between two requests, one phrase for each difference."""
    changes = [] if old.kind == new.kind else [f"kind: {old.kind} -> {new.kind}"]
    changes += changed_values(old.configuration, new.configuration)
    inputs_before = {given.name: given.fingerprint for given in old.inputs}
    inputs_after = {given.name: given.fingerprint for given in new.inputs}
    changes += [f"input {name} is gone" for name in inputs_before if name not in inputs_after]
    changes += [f"input {name} is new" for name in inputs_after if name not in inputs_before]
    same = inputs_before.keys() & inputs_after.keys()
    changes += [f"input {name} has changed" for name in sorted(same) if inputs_before[name] != inputs_after[name]]
    if not changes and old.inputs != new.inputs:
        changes.append("the inputs come in another order")
    return changes


def changed_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two trees of settings, one phrase for each value."""
    before, after = flat(old), flat(new)
    keys = sorted(before.keys() | after.keys())
    return [f"{key}: {before.get(key)} -> {after.get(key)}" for key in keys if before.get(key) != after.get(key)]


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree of settings with one key a leaf: `filters.length.min_chars`."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return leaves


def write_model(url: str, model: BaseModel) -> None:
    with atomic_writer(url) as stream:
        stream.write(model.model_dump_json(indent=1).encode())


def read_model(url: str, model: type[Model]) -> Model | None:
    """The model at `url`, None where there is no such file."""
    try:
        with open_url(url) as stream:
            return model.model_validate_json(stream.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as error:
        raise InputError(f"{url}: not a file of this program ({error.errors()[0]['msg']})") from None
