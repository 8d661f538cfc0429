"""Training state on disk: one safetensors file with everything an exact resume needs, and no pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from mining.errors import InputError
from mining.files import atomic_path

STATE_FILE = "training.safetensors"
BEST = "best"  # the encoder, in the folder of the same run


def save_state(path: Path, modules: nn.Module, optimizer: Optimizer, facts: dict[str, Any]) -> None:
    """Write parameters, optimizer state and `facts` (JSON); the old file stays until the new one is complete."""
    tensors = {f"module.{name}": tensor for name, tensor in _named_tensors(modules).items()}
    plain: dict[str, Any] = {}
    for name, parameter in modules.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{name}.{key}"] = value
            else:
                plain[f"{name}.{key}"] = value
    _write(path, tensors, {"facts": json.dumps(facts), "optimizer": json.dumps(plain)})


def save_facts(path: Path, facts: dict[str, Any]) -> None:
    """The state of a run that is not trained on: `facts` alone."""
    _write(path, {}, {"facts": json.dumps(facts)})


def _write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    try:
        with atomic_path(path) as temporary:
            save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, temporary, metadata)
    except (InputError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be written ({error}); the state saved before it is intact") from None


def read_facts(path: Path) -> dict[str, Any]:
    """The `facts` of a saved state."""
    try:
        with safe_open(path, "pt") as file:
            return dict(json.loads(file.metadata()["facts"]))
    except (SafetensorError, OSError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({error}); delete it to train from the start") from None


def load_state(path: Path, modules: nn.Module, optimizer: Optimizer) -> None:
    """Put saved parameters and optimizer state in place."""
    device = next(modules.parameters()).device
    try:
        with safe_open(path, "pt", device=str(device)) as file, torch.no_grad():
            plain = json.loads(file.metadata()["optimizer"])
            names = set(file.keys())
            for name, tensor in _named_tensors(modules).items():
                tensor.copy_(file.get_tensor(f"module.{name}"))
            for name, parameter in modules.named_parameters():
                prefix = f"optimizer.{name}."
                keys = [key.removeprefix(prefix) for key in names if key.startswith(prefix)]
                # Adam keeps its step counts on the CPU unless it is fused or capturable; it moves them itself.
                state = {key: file.get_tensor(prefix + key) for key in keys if "." not in key}
                state |= {k.rpartition(".")[2]: v for k, v in plain.items() if k.rpartition(".")[0] == name}
                if state:
                    optimizer.state[parameter] = state
    except (SafetensorError, OSError, RuntimeError) as error:
        raise InputError(f"{path}: does not fit this model ({error}); train into another folder") from None


def _named_tensors(modules: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, a shared one only once."""
    persistent = set(modules.state_dict().keys())
    tensors: dict[str, Tensor] = dict(modules.named_parameters())
    return tensors | {name: buffer for name, buffer in modules.named_buffers() if name in persistent}
