"""Several bags as one of the size of any of them.

A bag is linear: tables of the same features, side by side, are a bag whose vectors are those of all members, one behind
the other. A rotation of them changes no cosine, and the leading principal directions of sentences keep most of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from encoder.models import Bag
from encoder.tokens import Tokens
from mining.errors import InputError

_SENTENCES = 8192  # encoded at a time


def merge_bags(members: Sequence[Bag], dim: int, sentences: Tokens) -> Bag:
    """Project the members, side by side, to the `dim` directions in which the vectors of `sentences` vary most.

    Exact, up to rounding, where `dim` is that of all members together. Features count as often as `sentences` have
    them: give it text like that to be encoded.
    """
    together = sum(member.dim for member in members)
    if not 0 < dim <= together:
        raise InputError(f"bags of {together} dimensions together cannot be merged into {dim}")
    first, parts = members[0], [member.state_dict() for member in members]
    if any(_features(part) != _features(parts[0]) for part in parts):
        raise InputError("only bags of the same vocabulary and the same tables can be merged")
    rotation = principal_directions(members, sentences)[:, :dim]
    merged = {
        name: torch.cat([part[name] for part in parts], dim=1) @ rotation if name.endswith(".weight") else tensor
        for name, tensor in parts[0].items()
    }
    with torch.device("meta"):
        bag = Bag(first.settings.model_copy(update={"dim": dim}), first.tokens.num_embeddings)
    bag.load_state_dict(merged, assign=True)
    return bag


def _features(state: dict[str, Tensor]) -> dict[str, int]:
    """How many rows each table has."""
    return {name: len(tensor) for name, tensor in state.items()}


@torch.inference_mode()
def principal_directions(members: Sequence[Bag], sentences: Tokens) -> Tensor:
    """(dim, dim) float32 of all members side by side: orthonormal columns, those of most variance first."""
    size = sum(member.dim for member in members)
    moment = torch.zeros(size, size, dtype=torch.float64)
    for start in range(0, len(sentences.lengths), _SENTENCES):
        some = np.arange(start, min(start + _SENTENCES, len(sentences.lengths)))
        batch = sentences.take(some).batch()
        vectors = torch.cat([member.eval()(batch) for member in members], dim=1).double()  # (some, dim)
        vectors = torch.nn.functional.normalize(vectors, dim=1)
        moment += vectors.T @ vectors
    _, directions = torch.linalg.eigh(moment)  # in ascending order
    directions = directions.flip(1)
    # An eigenvector has no sign of its own: its largest entry is positive, whatever the library says.
    signs = directions.gather(0, directions.abs().argmax(0, keepdim=True)).sign()
    return (directions * signs).float()
