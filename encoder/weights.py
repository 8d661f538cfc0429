"""Weights of a model in a safetensors file; tables of embeddings may be held as product codes.

In place of the table `T` such a file has `T.layers`, the layer of each row, and for each layer from 1 on `T.1.codes`,
`T.1.codebook` and `T.1.scales` of its rows in order; rows of layer 0 are zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, load_model
from torch import Tensor, nn

from encoder.models import Bag
from encoder.product_code import ProductCode

_LAYERS = ".layers"
_PARTS = ("codes", "codebook", "scales")


def coded_tensors(name: str, layers: np.ndarray, coded: Mapping[int, ProductCode]) -> dict[str, Tensor]:
    """What a file holds in place of the tensor `name`."""
    tensors = {f"{name}{_LAYERS}": torch.from_numpy(layers)}
    for layer, code in coded.items():
        for part, array in zip(_PARTS, code, strict=True):
            floats = part != "codes"
            tensors[f"{name}.{layer}.{part}"] = torch.from_numpy(array.astype(np.float16) if floats else array)
    return tensors


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill `model`; a bag may be on the meta device and takes the tensors over, decoded where they are coded."""
    if not isinstance(model, Bag):
        load_model(model, str(path))
        return
    tensors = load_file(path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of so many small products each would wait for all threads: seconds on a busy machine
    try:
        for name in [name.removesuffix(_LAYERS) for name in tensors if name.endswith(_LAYERS)]:
            tensors[name] = _decode(name, tensors, model.dim)
    finally:
        torch.set_num_threads(threads)
    model.load_state_dict(tensors, assign=True)


def _decode(name: str, tensors: dict[str, Tensor], dim: int) -> Tensor:
    """The table `name`, whose codes are taken out of `tensors`.

    Half precision is far finer than the codes, sums of it are faster, and to fill fresh memory is what loading costs.
    """
    layers = tensors.pop(f"{name}{_LAYERS}")
    table = torch.zeros(len(layers), dim, dtype=torch.float16)
    for layer in layers[layers > 0].unique().tolist():
        places = (layers == layer).nonzero().squeeze(1)
        codes, codebook, scales = (tensors.pop(f"{name}.{layer}.{part}") for part in _PARTS)
        code = ProductCode(codes.numpy(), codebook.numpy(), scales.numpy())
        for here, directions in code.directions():
            table[places[here]] = torch.from_numpy(directions) * scales[here, None]
    return table
