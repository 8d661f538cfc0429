"""An encoder in one folder: settings, weights, SentencePiece model, metrics and a fingerprint of it all; no pickle."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import xxhash
import yaml
from fsspec import AbstractFileSystem
from pydantic import BaseModel, ConfigDict
from safetensors import SafetensorError
from safetensors.torch import save_file, save_model
from torch import Tensor, device, nn

from encoder.models import BagSettings, ModelSettings, Pretrained, PretrainedSettings, SentenceModel, build_model
from encoder.models.pretrained import TokenizerText
from encoder.settings import validate_settings
from encoder.subword import Subword
from encoder.text import TextEncoder, TextSettings
from encoder.weights import load_weights
from mining.errors import InputError
from mining.files import atomic_path
from mining.paths import resolve

VERSION = 1
CONFIG, WEIGHTS, SUBWORD, METRICS, FINGERPRINT = (
    "config.yaml",
    "model.safetensors",
    "sentencepiece.model",
    "metrics.json",
    "fingerprint",
)
PRETRAINED = "pretrained"  # architecture and tokenizer of a pretrained model, in Hugging Face's own files
CLASSIFIER = "classifier"  # a pair classifier for these vectors, which decides none of them
_CHUNK = 1 << 24


class CheckpointSettings(BaseModel):
    """`config.yaml`; a pretrained model brings its tokenizer and has neither text settings nor languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = VERSION
    model: ModelSettings
    text: TextSettings | None = None
    languages: tuple[str, ...] = ()


class Checkpoint(NamedTuple):
    model: SentenceModel
    text: TextEncoder | TokenizerText
    settings: CheckpointSettings
    metrics: dict[str, float]
    fingerprint: str


class EncoderSettings(Protocol):
    """The part of the training settings that the encoder itself depends on."""

    @property
    def model(self) -> ModelSettings: ...
    @property
    def text(self) -> TextSettings | None: ...


def save_checkpoint(
    folder: str | Path,
    model: nn.Module | Mapping[str, Tensor],
    settings: EncoderSettings,
    subword_path: str | Path | None,
    metrics: Mapping[str, float],
) -> str:
    """Write the folder and return its fingerprint; a checkpoint already there stays whole until the new one is.

    `model` may be the tensors of one, as `encoder.weights` reads them.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / CONFIG).exists() and any(folder.iterdir()):
        raise InputError(f"{folder} holds something that is not a checkpoint; choose another folder")
    try:
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            return _write(temporary, model, settings, subword_path, metrics)
    except (InputError, SafetensorError) as error:
        raise InputError(
            f"{error}; free some space or choose another folder, an earlier checkpoint there is intact"
        ) from error


def _write(
    folder: Path,
    model: nn.Module | Mapping[str, Tensor],
    settings: EncoderSettings,
    subword_path: str | Path | None,
    metrics: Mapping[str, float],
) -> str:
    text: TextSettings | None = None
    languages: tuple[str, ...] = ()
    if isinstance(model, Pretrained):
        model.write(folder / PRETRAINED, weights=False)
    elif subword_path is not None:
        shutil.copyfile(subword_path, folder / SUBWORD)
        text, languages = settings.text, Subword.load(subword_path).languages
    config = CheckpointSettings(model=settings.model, text=text, languages=languages)
    (folder / CONFIG).write_text(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    (folder / METRICS).write_text(json.dumps(dict(metrics), indent=2))
    if isinstance(model, nn.Module):
        save_model(model, str(folder / WEIGHTS))
    else:
        save_file({name: tensor.contiguous() for name, tensor in model.items()}, folder / WEIGHTS)
    fingerprint = content_fingerprint(folder)
    (folder / FINGERPRINT).write_text(fingerprint + "\n")
    return fingerprint


def content_fingerprint(folder: Path) -> str:
    """A hash of everything that decides the vectors; gigabytes a second, so it is checked at every load."""
    total = xxhash.xxh3_128()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in (METRICS, FINGERPRINT) or path.suffix == ".md" or name.startswith(f"{CLASSIFIER}/"):
            continue
        total.update(f"{name}\n{file_hash(path)}\n".encode())
    return total.hexdigest()


def file_hash(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_checkpoint(folder: str | Path) -> bool:
    return (Path(folder) / CONFIG).is_file()


def load_checkpoint(folder: str | Path, *, trust_remote_code: bool = False) -> Checkpoint:
    """The encoder in a local folder or under any fsspec URL, checked against its fingerprint.

    One that runs Python code of its own is refused without `trust_remote_code`, whatever its settings say.
    """
    path = local_copy(str(folder))
    settings = _read_settings(path)
    needed = [WEIGHTS, METRICS, FINGERPRINT]
    needed += [PRETRAINED] if isinstance(settings.model, PretrainedSettings) else [SUBWORD]
    for name in needed:
        if not (path / name).exists():
            raise InputError(f"{folder}: {name} is missing; copy the whole checkpoint folder again")
    fingerprint = (path / FINGERPRINT).read_text("utf-8", "replace").strip()
    if content_fingerprint(path) != fingerprint:
        raise InputError(
            f"{folder}: its files do not fit its fingerprint, so some are damaged or edited; copy it again", code="T03"
        )
    model, text = _rebuild(path, settings, trust_remote_code)
    try:
        load_weights(model, path / WEIGHTS)
    except (SafetensorError, RuntimeError, KeyError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path / WEIGHTS} is corrupt or belongs to another model ({reason}); copy it again") from None
    return Checkpoint(model.eval(), text, settings, read_metrics(path), fingerprint)


def read_metrics(folder: Path) -> dict[str, float]:
    """What was measured of an encoder when it was written."""
    try:
        found = json.loads((folder / METRICS).read_text("utf-8"))
        return {str(name): float(value) for name, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(f"{folder / METRICS}: missing or damaged; copy the checkpoint again") from None


def _read_settings(path: Path) -> CheckpointSettings:
    if not path.is_dir():
        raise InputError(f"{path}: there is no such checkpoint folder")
    try:
        tree = yaml.safe_load((path / CONFIG).read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: {CONFIG} is missing, so this is not a twinlode checkpoint") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{path / CONFIG}: not valid YAML; copy the checkpoint again") from None
    if not isinstance(tree, dict) or tree.get("version") != VERSION:
        version = tree.get("version") if isinstance(tree, dict) else None
        raise InputError(
            f"{path} is a checkpoint of version {version}, this twinlode reads version {VERSION}; update it"
        )
    return validate_settings(CheckpointSettings, tree, str(path / CONFIG))


def _rebuild(
    path: Path, settings: CheckpointSettings, trust_remote_code: bool
) -> tuple[SentenceModel, TextEncoder | TokenizerText]:
    """The network without its weights, and what makes its tokens."""
    if isinstance(settings.model, PretrainedSettings):
        if settings.model.trust_remote_code and not trust_remote_code:
            raise InputError(
                f"{path}: this encoder brings Python code; if you trust it, load it with trust_remote_code=True"
            )
        model = Pretrained.empty(settings.model, path / PRETRAINED)
        return model, model.text
    subword = Subword.load(path / SUBWORD)
    with device("meta" if isinstance(settings.model, BagSettings) else "cpu"):  # no random start that is thrown away
        built = cast(SentenceModel, build_model(settings.model, subword.vocabulary))
    return built, TextEncoder(settings.text or TextSettings(), subword)


def local_copy(url: str) -> Path:
    """A path on this machine; a remote folder is copied once into the cache and again when it changed."""
    filesystem, remote = resolve(url)
    if "file" in filesystem.protocol:
        return Path(remote)
    key = xxhash.xxh3_128(url.encode() + _stamp(filesystem, remote, url)).hexdigest()
    target = Path(tempfile.gettempdir()) / "twinlode-checkpoints" / key
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        arriving = target.with_name(f"{key}.{uuid.uuid4().hex[:12]}")
        filesystem.get(remote.rstrip("/") + "/", f"{arriving}/", recursive=True)
        try:
            arriving.rename(target)
        except OSError:  # another process was first
            shutil.rmtree(arriving, ignore_errors=True)
    return target


def _stamp(filesystem: AbstractFileSystem, remote: str, url: str) -> bytes:
    """What changes with a remote folder: our fingerprint, or the state of each file of a Hugging Face folder."""
    files = sorted(filesystem.find(remote))
    names = {file.rsplit("/", 1)[-1] for file in files}
    if FINGERPRINT in names:
        return bytes(filesystem.cat_file(f"{remote.rstrip('/')}/{FINGERPRINT}"))
    if not names & {"config.json", "modules.json"}:
        raise InputError(f"{url}: there is no such checkpoint or Hugging Face folder")
    return "\n".join(f"{file} {filesystem.ukey(file)}" for file in files).encode()
