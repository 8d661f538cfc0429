"""A bag in a few tens of megabytes: fewer dimensions and product codes on disk, ordinary floats once it is loaded.

Sums straight from codes took twice as long as sums of floats, and decoding all rows takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from encoder.checkpoint import SUBWORD, load_checkpoint, local_copy, save_checkpoint
from encoder.models import Bag, BagSettings
from encoder.product_code import balanced_rotation, fit
from encoder.weights import coded_tensors
from mining.errors import InputError

CODE_BYTES = 64
_TOKENS = "tokens.weight"  # few, in every sentence, and coded twice as finely as the hashed rest


class Quantized(NamedTuple):
    folder: Path
    dim: int
    megabytes: float  # of a million bytes
    error: float  # share of the tables' energy that is lost by the codes
    fingerprint: str


def quantize_encoder(
    source: str, out: str | Path, *, dim: int | None = None, code_bytes: int = CODE_BYTES, seed: int = 0
) -> Quantized:
    """Write the bag in the folder `source` as a smaller encoder of `dim` dimensions (default: as many as it has)."""
    path = local_copy(source)
    found = load_checkpoint(path)
    if not isinstance(found.model, Bag) or not isinstance(found.settings.model, BagSettings):
        raise InputError(f"{source}: only a bag can be quantized; this encoder is a {found.settings.model.kind}")
    kept = dim or found.model.dim
    _require_division(kept, code_bytes, found.model.dim)
    if Path(out).exists():
        raise InputError(f"{out} exists already; choose a new folder")
    tensors, error = quantize_tables(found.model.state_dict(), kept, code_bytes, seed)
    model = found.settings.model.model_copy(update={"dim": kept})
    settings = found.settings.model_copy(update={"model": model})
    fingerprint = save_checkpoint(out, tensors, settings, path / SUBWORD, found.metrics)
    size = sum(file.stat().st_size for file in Path(out).iterdir())
    return Quantized(Path(out), kept, size / 1e6, error, fingerprint)


def _require_division(dim: int, code_bytes: int, most: int) -> None:
    if dim > most:
        raise InputError(f"--dim {dim}: the encoder has {most} dimensions; choose as many or fewer")
    if dim % (2 * code_bytes):
        raise InputError(f"--dim {dim}: not a multiple of {2 * code_bytes}, twice --code-bytes; choose one")


def quantize_tables(
    state: Mapping[str, Tensor], dim: int, code_bytes: int, seed: int
) -> tuple[dict[str, Tensor], float]:
    """The tensors of a bag with its tables coded, and the share of their energy that this loses."""
    tables = {name: tensor.numpy() for name, tensor in state.items() if name.endswith(".weight")}
    rotation = balanced_rotation(list(tables.values()), dim, code_bytes)
    tensors = {name: tensor for name, tensor in state.items() if name not in tables}
    lost = energy = 0.0
    for number, (name, table) in enumerate(tables.items()):
        rows = table @ rotation
        coded = fit(rows, 2 * code_bytes if name == _TOKENS else code_bytes, seed=seed + number)
        tensors |= coded_tensors(name, coded)
        lost += float(np.square(coded.rows() - rows).sum(dtype=np.float64))
        energy += float(np.square(rows).sum(dtype=np.float64))
    return tensors, lost / max(energy, torch.finfo(torch.float32).tiny)
