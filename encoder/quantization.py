"""A bag in a few tens of megabytes: fewer dimensions and product codes on disk, ordinary floats once it is loaded.

Sums straight from codes took twice as long as sums of floats, and decoding all rows takes a fraction of a second.
Rows that sentences use often are coded finely, rows of little use coarsely or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from encoder.checkpoint import SUBWORD, load_checkpoint, local_copy, save_checkpoint
from encoder.encoder_card import add_section
from encoder.models import Bag, BagSettings
from encoder.product_fit import balanced_rotation, fit
from encoder.training.row_use import row_use, training_sentences
from encoder.weights import coded_tensors
from mining.errors import InputError
from mining.files import atomic_path

_TOKENS = "tokens.weight"  # few and in every sentence: all of them finely
_LAYERS = (8, 4, 2)  # dimensions of a byte, from coarse to fine
# Share of a row's energy that is lost when it is dropped, or coded with this many dimensions a byte: measured on an
# encoder of the package. They only decide which rows are worth their bytes.
_LOSSES = (1.0, 0.30, 0.083, 0.007)
_SCALE_BYTES = 2


class Quantized(NamedTuple):
    folder: Path
    dim: int
    megabytes: float  # of a million bytes
    error: float  # share of the tables' energy, by their use, that is lost
    dropped: float  # share of the rows that are left out
    fingerprint: str


def quantize_encoder(
    source: str, out: str | Path, *, dim: int | None = None, megabytes: float = 28.0, seed: int = 0
) -> Quantized:
    """Write the bag in the folder `source` as an encoder of at most `megabytes`, of `dim` dimensions (default: all).

    Where the data of its training run is there, too, it says which rows are used most; else all count the same.
    """
    path = local_copy(source)
    found = load_checkpoint(path)
    if not isinstance(found.model, Bag) or not isinstance(found.settings.model, BagSettings):
        raise InputError(f"{source}: only a bag can be quantized; this encoder is a {found.settings.model.kind}")
    kept = dim or found.model.dim
    if kept > found.model.dim or kept % max(_LAYERS):
        raise InputError(f"--dim {kept}: choose a multiple of {max(_LAYERS)}, {found.model.dim} at most")
    if Path(out).exists():
        raise InputError(f"{out} exists already; choose a new folder")
    use = row_use(found.model, training_sentences(path))
    room = megabytes * 1e6 - (path / SUBWORD).stat().st_size
    made = quantize_tables(found.model.state_dict(), use, kept, room, seed)
    settings = found.settings.model_copy(
        update={"model": found.settings.model.model_copy(update={"dim": kept})},
    )
    with atomic_path(Path(out)) as temporary:
        fingerprint = save_checkpoint(temporary, made.tensors, settings, path / SUBWORD, found.metrics)
        about = (
            f"Made from the encoder `{found.fingerprint}`, whose figures these are: this one is `{fingerprint}`, of "
            f"{kept} dimensions; its codes lose {made.error:.1%} of the embeddings' energy."
        )
        add_section(path, temporary, "Quantized", about)
    size = sum(file.stat().st_size for file in Path(out).iterdir())
    return Quantized(Path(out), kept, size / 1e6, made.error, made.dropped, fingerprint)


class CodedTables(NamedTuple):
    tensors: dict[str, Tensor]
    error: float
    dropped: float


def quantize_tables(
    state: Mapping[str, Tensor], use: Mapping[str, np.ndarray], dim: int, room: float, seed: int
) -> CodedTables:
    """The tensors of a bag with its tables coded in `room` bytes; `use` says how much each row is used."""
    tables = {name: tensor.float().numpy() for name, tensor in state.items() if name.endswith(".weight")}
    rotation = balanced_rotation(list(tables.values()), dim)
    rows = {name: table @ rotation for name, table in tables.items()}
    worth = {name: use[name] * np.square(table).sum(1) for name, table in rows.items()}
    tensors = {name: tensor for name, tensor in state.items() if name not in tables}
    room -= sum(tensor.nbytes for tensor in tensors.values()) + _fixed_bytes(rows, dim)
    if room < 0:
        raise InputError(f"--megabytes: {-room / 1e6:.1f} more are needed for codebooks and tokens alone")
    hashed = [name for name in rows if name != _TOKENS]
    layers = _choose_layers(np.concatenate([worth[name] for name in hashed]), dim, room) if hashed else np.zeros(0)
    lost = energy = 0.0
    for name, table in rows.items():
        mine: np.ndarray = np.full(len(table), len(_LAYERS), np.uint8)
        if name != _TOKENS:
            mine, layers = layers[: len(table)], layers[len(table) :]
        coded = {
            layer: fit(table[mine == layer], dim // width, seed=seed, use=use[name][mine == layer])
            for layer, width in enumerate(_LAYERS, 1)
            if (mine == layer).any()
        }
        tensors |= coded_tensors(name, mine, coded)
        for layer in {0, *coded}:
            part = table[mine == layer]
            errors = np.square(part - coded[layer].rows() if layer else part).sum(1)
            lost += float(errors @ use[name][mine == layer])
        energy += float(worth[name].sum())
    dropped = sum(int((tensors[f"{name}.layers"] == 0).sum()) for name in rows) / sum(map(len, rows.values()))
    return CodedTables(tensors, lost / max(energy, 1e-30), dropped)


def _fixed_bytes(rows: Mapping[str, np.ndarray], dim: int) -> float:
    """Codebooks, layers and the tokens, which have their bytes whatever the others get."""
    codebooks = len(rows) * len(_LAYERS) * 256 * dim * 2
    return codebooks + sum(map(len, rows.values())) + len(rows[_TOKENS]) * (dim // _LAYERS[-1] + _SCALE_BYTES) + 4096


def _choose_layers(worth: np.ndarray, dim: int, room: float) -> np.ndarray:
    """(rows,) uint8: 0 for a row that is dropped, else its layer, so that the least is lost and all fits `room`.

    The price of a byte is raised until it does (Lagrange).
    """
    sizes = np.array([0, *(dim // width + _SCALE_BYTES for width in _LAYERS)])
    low, high = 0.0, float(worth.max(initial=0)) + 1e-30
    layers = np.zeros(len(worth), np.uint8)
    for _ in range(60):
        price = (low + high) / 2
        cost = worth[:, None] * np.array(_LOSSES) + price * sizes  # (rows, layers)
        chosen = cost.argmin(1).astype(np.uint8)
        if sizes[chosen].sum() <= room:
            layers, high = chosen, price
        else:
            low = price
    return layers
