"""Weights of a model in a safetensors file; tables of embeddings may be held as product codes."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, load_model
from torch import Tensor, nn

from encoder.models import Bag
from encoder.product_code import ProductCode

_CODES = ".codes"


def coded_tensors(name: str, coded: ProductCode) -> dict[str, Tensor]:
    """What a file holds in place of the tensor `name`."""
    return {
        f"{name}{_CODES}": torch.from_numpy(coded.codes),
        f"{name}.codebook": torch.from_numpy(coded.codebook).half(),
        f"{name}.scales": torch.from_numpy(coded.scales).half(),
    }


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill `model`; a bag may be on the meta device and takes the tensors over, decoded where they are coded."""
    if not isinstance(model, Bag):
        load_model(model, str(path))
        return
    tensors = load_file(path)
    for name in [name.removesuffix(_CODES) for name in tensors if name.endswith(_CODES)]:
        parts = (tensors.pop(f"{name}.{part}").numpy() for part in ("codes", "codebook", "scales"))
        tensors[name] = torch.from_numpy(ProductCode(*parts).rows())
    model.load_state_dict(tensors, assign=True)
