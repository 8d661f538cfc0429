"""k-means, as scikit-learn does it: k-means++ starts, Lloyd's steps, the best of several tries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

_STEPS = 300


class Clustering(NamedTuple):
    clusters: np.ndarray  # (items,) int64
    inertia: float  # sum of squared distances to the centres


def k_means(vectors: np.ndarray, count: int, seed: int, tries: int = 10) -> Clustering:
    """The clustering of the lowest inertia among `tries`."""
    items = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    generator = torch.Generator().manual_seed(seed)
    return min((_once(items, count, generator) for _ in range(tries)), key=lambda found: found.inertia)


def _once(items: Tensor, count: int, generator: torch.Generator) -> Clustering:
    centres = _starts(items, count, generator)
    nearest = torch.full((len(items),), -1)
    for _ in range(_STEPS):
        distances, following = _distances(items, centres).min(dim=1)
        if torch.equal(following, nearest):
            break
        nearest = following
        sizes = torch.bincount(nearest, minlength=count)
        sums = torch.zeros_like(centres).index_add_(0, nearest, items)
        # A cluster that lost everything starts again at the item that is farthest from its centre.
        centres = torch.where(sizes[:, None] > 0, sums / sizes.clamp(min=1)[:, None], items[distances.argmax()])
    return Clustering(nearest.numpy(), float(_distances(items, centres).min(dim=1).values.double().sum()))


def _starts(items: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """k-means++ (Arthur and Vassilvitskii 2007): each start is drawn by its squared distance to those before."""
    chosen = [int(torch.randint(len(items), (1,), generator=generator))]
    distances = _distances(items, items[chosen])[:, 0]
    for _ in range(count - 1):
        weights = distances if distances.sum() > 0 else torch.ones_like(distances)
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
        distances = torch.minimum(distances, _distances(items, items[chosen[-1:]])[:, 0])
    return items[chosen]


def _distances(items: Tensor, centres: Tensor) -> Tensor:
    squares = items.square().sum(1)[:, None] + centres.square().sum(1) - 2 * items @ centres.T
    return squares.clamp(min=0)  # (items, centres)
