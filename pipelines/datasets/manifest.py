"""Datasets: a folder of shards and one manifest that names them, and says what they were made of.

dataset/
  manifest.json             written last: a folder without it is not a dataset
  00000-1f2e3d4c.parquet    shards; each attempt to make one has a name of its own, and the manifest chooses
  _work/                    only while the stage runs, see `pipelines.datasets.work`
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import xxhash
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from mining.errors import InputError
from mining.files import atomic_writer
from mining.paths import open_url, resolve
from pipelines.datasets.contents import check_file, content_hash

SCHEMA_VERSION = 2
MANIFEST = "manifest.json"
WORK = "_work"

# What an input is to a stage.
TEXT, SUBWORDS, SENTENCES, VECTORS, GRAPH, GOLD = "text", "subwords", "sentences", "vectors", "graph", "gold"
SOURCE, TARGET, SEED, CORPUS = "source", "target", "seed bitext", "corpus"

Kind = Literal["sentences", "vectors", "graph", "pairs", "alignment"]
Model = TypeVar("Model", bound=BaseModel)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _in_folder(name: str) -> str:
    """A manifest from elsewhere must not lead out of its folder."""
    if not name or name.strip(".") == "" or not name.isprintable() or "/" in name or "\\" in name:
        raise ValueError(f"{name!r} is not the name of a file in the folder")
    return name


class Counters(_Record):
    """What became of the rows of a stage: `rows_in == kept + sum(dropped.values())`."""

    rows_in: int = 0
    kept: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)

    def __add__(self, other: Counters) -> Counters:
        dropped = dict(sorted((Counter(self.dropped) + Counter(other.dropped)).items()))
        return Counters(rows_in=self.rows_in + other.rows_in, kept=self.kept + other.kept, dropped=dropped)


class Shard(_Record):
    """A finished shard: its file name within the dataset, its rows, a hash of what is in it, and one of the file."""

    index: int
    name: Annotated[str, AfterValidator(_in_folder)]
    rows: int
    digest: str
    counters: Counters = Counters()
    role: str = Field(default="", description="which part of the dataset it is of, such as a direction of a graph")
    checksum: str = Field(default="", description="of the file's bytes; empty where it is not known")


class Input(_Record):
    """What a stage read, and as what: its content decides, its name only says where it was."""

    role: str = ""
    name: str
    fingerprint: str


class Request(_Record):
    """What a stage was asked to make; the same request over the same inputs makes the same dataset."""

    kind: Kind
    configuration: dict[str, JsonValue]
    inputs: list[Input]
    versions: dict[str, str] = Field(
        default_factory=dict, description="of the code, models and libraries that decide the result"
    )

    def given(self, role: str) -> list[Input]:
        """The inputs of a role, in order."""
        return [given for given in self.inputs if given.role == role]


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

    @model_validator(mode="before")
    @classmethod
    def _of_version_before(cls, tree: Any) -> Any:
        if not isinstance(tree, dict) or tree.get("schema_version") != 1:
            return tree
        try:
            return upgraded(tree)
        except (KeyError, TypeError, AttributeError):
            raise ValueError("a damaged manifest of schema version 1") from None


def upgraded(tree: dict[str, Any]) -> dict[str, Any]:
    """A manifest of schema version 1, which knew inputs by their order and directions by file names."""
    request = tree["request"]
    count = len(request["inputs"])
    # Datasets of a side: a corpus, and the probes where there were any; pairs have the graph too, and perhaps gold.
    of_side = count // 2 if request["kind"] == "graph" else 2 if count > 4 else 1
    sides = [role for side in (SOURCE, TARGET) for role in (side, probes_of(side))[:of_side]]
    roles = {
        "sentences": [TEXT] * count,
        "vectors": [SENTENCES],
        "graph": sides,
        "pairs": [GRAPH, *sides, GOLD],
    }[request["kind"]]
    inputs = [given | {"role": role} for given, role in zip(request["inputs"], roles, strict=False)]
    shards = [shard | {"role": shard["name"].partition("-")[0]} for shard in tree["shards"]]
    shards = shards if request["kind"] == "graph" else tree["shards"]
    return tree | {"schema_version": SCHEMA_VERSION, "request": request | {"inputs": inputs}, "shards": shards}


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

    def shards_of(self, role: str) -> list[Shard]:
        return [shard for shard in self.shards if shard.role == role]

    def place(self, shard: Shard) -> str:
        """Where a shard lies, to hand on; who reads it checks it there."""
        return join(self.url, shard.name)

    def shard_url(self, shard: Shard) -> str:
        """A shard to read: the very file that was written, or an error."""
        url = self.place(shard)
        check_file(url, shard.checksum)
        return url

    def as_input(self, role: str = "", reader: str | None = None) -> Input:
        """This dataset as an input of the one in the folder `reader`: by the way from there, so both can be moved."""
        name = self.url if reader is None else relative(self.url, reader)
        return Input(role=role or self.manifest.request.kind, name=name, fingerprint=self.fingerprint)

    def input_url(self, given: Input) -> str:
        """Where an input of this dataset is, if nothing was moved apart."""
        return found_from(self.url, given.name)


def probes_of(side: str) -> str:
    """The role of the probes behind the corpus of a side."""
    return f"{side} probes"


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


def relative(url: str, folder: str) -> str:
    """The way from a folder to a file or folder in the same store, or the whole URL where there is none."""
    (here, path), (there, base) = resolve(url), resolve(folder)
    if type(here) is not type(there):
        return url
    apart = posixpath.commonpath([path, base]) in ("", "/")
    return url if apart else posixpath.relpath(path, base)


def found_from(folder: str, name: str) -> str:
    """What `relative` told of."""
    if "://" in name or name.startswith("/"):
        return name
    store, separator, path = folder.rpartition("://")
    return f"{store}{separator}{posixpath.normpath(posixpath.join(path, name))}"


def file_input(url: str, role: str = TEXT) -> Input:
    """A file by its content."""
    return Input(role=role, name=url, fingerprint=content_hash(url))


def open_dataset(url: str, kind: Kind) -> Dataset:
    """The complete dataset at `url`; anything else is an error that says what is there instead."""
    manifest = read_model(join(url, MANIFEST), Manifest)
    if manifest is None:
        unfinished = read_model(join(url, WORK, "request.json"), Request) is not None
        state = "is unfinished; run the command that makes it again" if unfinished else "has no manifest.json"
        raise InputError(f"{url}: the dataset {state}")
    if manifest.schema_version != SCHEMA_VERSION:  # one behind was read as if it were of this one
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


def changed(old: Request, new: Request) -> list[str]:
    """What differs between two requests, one phrase for each difference."""
    changes = [] if old.kind == new.kind else [f"kind: {old.kind} -> {new.kind}"]
    changes += changed_values(old.configuration, new.configuration)
    changes += [f"version of {change}" for change in changed_values(old.versions, new.versions)]
    for role in dict.fromkeys(given.role for given in (*old.inputs, *new.inputs)):
        changes += changed_inputs(old.given(role), new.given(role))
    return changes


def changed_inputs(old: list[Input], new: list[Input]) -> list[str]:
    """Of one role; content decides, and a name alone that changed is no change."""
    before, after = [given.fingerprint for given in old], [given.fingerprint for given in new]
    if before == after:
        return []
    if sorted(before) == sorted(after):
        return [f"the {old[0].role} inputs come in another order"]
    names = {given.name for given in old} & {given.name for given in new}
    changes = [f"input {given.name} has changed" for given in new if given.name in names and given not in old]
    gone = [given.name for given in old if given.name not in names and given.fingerprint not in after]
    come = [given.name for given in new if given.name not in names and given.fingerprint not in before]
    changes += [f"input {name} is gone" for name in gone] + [f"input {name} is new" for name in come]
    return changes or [f"the {old[0].role} inputs are repeated otherwise"]


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
