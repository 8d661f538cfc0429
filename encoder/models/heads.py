"""What stands between a backbone's last layer and the sentence vector, in sentence-transformers' folder form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from mining.errors import InputError

_TYPES = "sentence_transformers.models"
_LEGACY_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}


class Pooling(nn.Module):
    """Token vectors to one vector; several modes are concatenated."""

    KNOWN = ("cls", "max", "mean", "lasttoken")

    def __init__(self, width: int, modes: tuple[str, ...]) -> None:
        super().__init__()
        self.width, self.modes = width, modes
        self.out_features = width * len(modes)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """`states` (batch, length, width), `mask` (batch, length) or None when nothing is padded."""
        return torch.cat([self._pool(mode, states, mask) for mode in self.modes], dim=-1)

    def _pool(self, mode: str, states: Tensor, mask: Tensor | None) -> Tensor:
        if mode == "cls":
            return states[:, 0]
        if mode == "lasttoken":
            last = -1 if mask is None else mask.sum(1).clamp(min=1) - 1
            return states[torch.arange(len(states), device=states.device), last]
        if mode == "max":
            hidden = states if mask is None else states.masked_fill(~mask[..., None], -torch.inf)
            return hidden.max(dim=1).values
        if mask is None:
            return states.mean(dim=1)
        weights = mask.to(states.dtype)
        return torch.einsum("bld,bl->bd", states, weights) / weights.sum(1, keepdim=True).clamp(min=1)

    def config(self) -> dict[str, Any]:
        legacy = {key: mode in self.modes for key, mode in _LEGACY_MODES.items()}
        return {"word_embedding_dimension": self.width, **legacy, "include_prompt": True}

    @classmethod
    def read(cls, folder: Path) -> Pooling:
        config = read_json(folder / "config.json")
        width = config.get("embedding_dimension", config.get("word_embedding_dimension"))
        named = config.get("pooling_mode")
        modes = (
            [named] if isinstance(named, str) else named or [m for key, m in _LEGACY_MODES.items() if config.get(key)]
        )
        unknown = [mode for mode in modes if mode not in cls.KNOWN]
        if unknown or not modes or width is None:
            raise InputError(f"{folder}: pooling {unknown or 'without a mode'} is unknown; choose pooling mean or cls")
        return cls(width, tuple(modes))


class Dense(nn.Module):
    """A linear layer and an activation on the pooled vector, as LaBSE has."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.settings = config
        self.out_features = config["out_features"]
        self.linear = nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True))
        self.activation = _activation(config.get("activation_function", "torch.nn.modules.activation.Tanh"))

    def forward(self, vectors: Tensor) -> Tensor:
        return self.activation(self.linear(vectors))

    def config(self) -> dict[str, Any]:
        return self.settings

    @classmethod
    def read(cls, folder: Path) -> Dense:
        config = read_json(folder / "config.json")
        if config.get("use_residual") or config.get("module_input_name", "sentence_embedding") != "sentence_embedding":
            raise InputError(f"{folder}: this kind of Dense module is not supported; choose pooling mean or cls")
        return cls(config)

    def read_weights(self, folder: Path) -> None:
        path, older = folder / "model.safetensors", folder / "pytorch_model.bin"
        if path.exists():
            self.load_state_dict(load_file(path))
        elif older.exists():
            self.load_state_dict(torch.load(older, map_location="cpu", weights_only=True))
        else:
            raise InputError(f"{path}: no such file, nor {older.name}; the encoder folder is incomplete")


class Normalize(nn.Module):
    """Unit length."""

    def forward(self, vectors: Tensor) -> Tensor:
        return functional.normalize(vectors, dim=-1)

    def config(self) -> dict[str, Any]:
        return {}


class Head(nn.Module):
    """Pooling, then any number of Dense and Normalize stages."""

    def __init__(self, pooling: Pooling, stages: list[Dense | Normalize]) -> None:
        super().__init__()
        self.pooling = pooling
        self.stages = nn.ModuleList(stages)
        self._described: list[Pooling | Dense | Normalize] = [pooling, *stages]
        dense = [stage for stage in stages if isinstance(stage, Dense)]
        self.dim: int = dense[-1].out_features if dense else pooling.out_features

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        vectors = self.pooling(states, mask)
        for stage in self.stages:
            vectors = stage(vectors)
        return vectors

    @classmethod
    def plain(cls, width: int, mode: str) -> Head:
        return cls(Pooling(width, (mode,)), [])

    def projected(self) -> Head:
        """This head and a linear layer that keeps the width."""
        sizes = {"in_features": self.dim, "out_features": self.dim, "bias": True}
        layer = Dense(sizes | {"activation_function": "torch.nn.modules.linear.Identity"})
        return Head(self.pooling, [*self._described[1:], layer])  # type: ignore[list-item]

    @classmethod
    def read(cls, folder: Path, *, weights: bool) -> Head:
        """The head that the `modules.json` of `folder` describes; its first module is the backbone."""
        pooling: Pooling | None = None
        stages: list[Dense | Normalize] = []
        for module in read_modules(folder)[1:]:
            path, name = folder / module.path, module.kind
            if name == "Pooling" and pooling is None:
                pooling = Pooling.read(path)
            elif name == "Dense":
                dense = Dense.read(path)
                if weights:
                    dense.read_weights(path)
                stages.append(dense)
            elif name == "Normalize":
                stages.append(Normalize())
            elif name != "Dropout":
                raise InputError(f"{folder}: module {module.type} is not supported; choose pooling mean or cls")
        if pooling is None:
            raise InputError(f"{folder}: modules.json has no Pooling module; choose pooling mean or cls")
        return cls(pooling, stages)

    def write(self, folder: Path, *, weights: bool) -> None:
        """`modules.json` and a folder for each stage, as sentence-transformers writes them."""
        modules = [{"idx": 0, "name": "0", "path": "", "type": f"{_TYPES}.Transformer"}]
        for index, stage in enumerate(self._described, 1):
            name = type(stage).__name__
            path = folder / f"{index}_{name}"
            path.mkdir(parents=True, exist_ok=True)
            (path / "config.json").write_text(json.dumps(stage.config(), indent=2))
            if weights and isinstance(stage, Dense):
                save_file(
                    {key: value.contiguous() for key, value in stage.state_dict().items()}, path / "model.safetensors"
                )
            modules.append({"idx": index, "name": str(index), "path": path.name, "type": f"{_TYPES}.{name}"})
        (folder / "modules.json").write_text(json.dumps(modules, indent=2))


class Module(NamedTuple):
    """An entry of `modules.json`."""

    type: str
    path: str

    @property
    def kind(self) -> str:
        """The class, without the package that changes between versions of sentence-transformers."""
        return self.type.rsplit(".", 1)[-1]


def read_modules(folder: Path) -> list[Module]:
    """What a sentence-transformers folder is made of; any other folder has no modules."""
    path = folder / "modules.json"
    try:
        found = json.loads(path.read_text("utf-8")) if path.exists() else []
        modules = [Module(str(module["type"]), str(module["path"])) for module in found]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path}: not a list of modules; copy the folder again") from None
    for module in modules:
        if not (folder / module.path).resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{path}: the module {module.path} is outside of the folder")
    return modules


def backbone_folder(folder: Path) -> Path:
    """Where backbone and tokenizer are: the path of the first module, or `folder` itself where it has no modules."""
    modules = read_modules(folder)
    return folder / modules[0].path if modules else folder


def _activation(reference: str) -> nn.Module:
    name = reference.rsplit(".", 1)[-1]
    if not reference.startswith("torch.nn.") or not hasattr(nn, name):
        raise InputError(f"a Dense module with activation {reference} is not supported; choose pooling mean or cls")
    module: nn.Module = getattr(nn, name)()
    return module


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; the encoder folder is incomplete") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None
