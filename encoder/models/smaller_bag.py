"""A bag of fewer dimensions and smaller tables out of a trained one: where the training of a small encoder begins."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from encoder.models.bag import Bag, BagSettings
from encoder.product_fit import balanced_rotation

_TABLES = ("bigrams", "words", "ngrams")
_WIDTH = 8  # product codes take up to so many dimensions together


def is_smaller(settings: BagSettings, trained: BagSettings) -> bool:
    """Whether such a bag can be made of the trained one: no wider, each table a whole fraction of its own."""
    sizes = [(getattr(settings, name), getattr(trained, name)) for name in _TABLES]
    fractions = all(here == there or (here and there % here == 0) for here, there in sizes)
    narrower = settings.dim == trained.dim or (settings.dim < trained.dim and settings.dim % _WIDTH == 0)
    return settings != trained and fractions and narrower


def smaller_state(trained: Bag, settings: BagSettings, use: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The weights of a bag of `settings`; `use` says how much each row of the trained tables is used.

    A bucket is a hash modulo the size of the table, so rows of the same remainder meet in one row: their mean, by
    their use. Of the dimensions the leading principal directions are kept, by use, too.
    """
    state = trained.state_dict()
    tables = {name: tensor.float().numpy() for name, tensor in state.items() if name.endswith(".weight")}
    rotation = np.eye(trained.dim, dtype=np.float32)
    if settings.dim < trained.dim:
        used = [table * np.sqrt(use[name])[:, None] for name, table in tables.items()]
        rotation = balanced_rotation(used, settings.dim)
    for name, table in tables.items():
        rows = getattr(settings, name.removesuffix(".weight"), None) or len(table)  # all tokens are kept
        state[name] = torch.from_numpy(_folded(table, use[name], rows) @ rotation)
    return state


def _folded(table: np.ndarray, use: np.ndarray, rows: int) -> np.ndarray:
    """(rows, dim): row i is the mean of all rows that leave the remainder i."""
    weights = use.reshape(-1, rows, 1)  # (fold, rows, 1)
    total: np.ndarray = (table.reshape(-1, rows, table.shape[1]) * weights).sum(0) / weights.sum(0)
    return total.astype(np.float32)
