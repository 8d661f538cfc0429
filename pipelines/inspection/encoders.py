"""Encoders: ours, sentence-transformers' and Hugging Face's; described from their files, without loading weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors import SafetensorError, safe_open

from encoder.checkpoint import CONFIG, FINGERPRINT, CheckpointSettings, content_fingerprint, read_metrics
from encoder.settings import validate_settings
from mining.errors import InputError
from pipelines.datasets.manifest import flat
from pipelines.inspection.description import Description, counted

_TOLD = (
    "model_type",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "max_position_embeddings",
)


def describe_ours(folder: Path) -> Description:
    """A checkpoint of `twinlode train`."""
    try:
        tree = yaml.safe_load((folder / CONFIG).read_text("utf-8"))
        stamp = (folder / FINGERPRINT).read_text("utf-8", "replace").strip()
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{folder}: a damaged checkpoint ({str(error).splitlines()[0]}); copy it again") from None
    settings = validate_settings(CheckpointSettings, tree, str(folder / CONFIG))
    whole = content_fingerprint(folder) == stamp
    facts = [
        ("fingerprint", stamp if whole else f"{stamp}, but the files do not fit it: damaged or edited"),
        ("parameters", _parameters(folder)),
        ("languages", ", ".join(settings.languages) or "as the tokenizer"),
        *((f"model.{key}", str(value)) for key, value in flat(settings.model.model_dump(mode="json")).items()),
        *((name, f"{value:.4g}") for name, value in read_metrics(folder).items()),
    ]
    return Description("twinlode encoder", facts)


def describe_pretrained(folder: Path) -> Description:
    """A folder of transformers or sentence-transformers."""
    config = _json(folder / "config.json")
    modules = folder / "modules.json"
    facts = [("fingerprint", content_fingerprint(folder)), ("parameters", _parameters(folder))]
    facts += [(key.replace("_", " "), str(config[key])) for key in _TOLD if key in config]
    if modules.exists():
        names = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in _json(modules)]
        return Description("sentence-transformers encoder", [*facts, ("modules", ", ".join(names))])
    return Description("Hugging Face encoder", facts)


def _parameters(folder: Path) -> str:
    total = 0
    for path in folder.glob("*.safetensors"):
        try:
            with safe_open(str(path), "np") as tensors:
                total += sum(int(np.prod(tensors.get_slice(key).get_shape())) for key in tensors.keys())  # noqa: SIM118
        except SafetensorError as error:
            raise InputError(f"{path}: not a safetensors file, or a damaged one ({error})") from None
    return counted(total) if total else "not in safetensors files"


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
