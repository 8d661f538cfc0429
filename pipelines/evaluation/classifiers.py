"""Small classifiers on frozen vectors."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

FEW, DRAWS = 8, 10  # texts a label and experiments of MTEB
_MTEB_SEED = 42


class LabelledVectors(NamedTuple):
    vectors: np.ndarray  # (examples, dim) float32
    labels: np.ndarray  # (examples,) int64


class MlpSettings(NamedTuple):
    """Of LASER's MLDoc experiments: two hidden layers of 10 and 8, dropout 0.2, Adam 0.001, batches of 12."""

    hidden: tuple[int, ...] = (10, 8)
    dropout: float = 0.2
    learning_rate: float = 1e-3
    batch: int = 12
    epochs: int = 100


def train_mlp(
    train: LabelledVectors, dev: LabelledVectors, classes: int, settings: MlpSettings, seed: int
) -> nn.Module:
    """The network of the epoch that is best on `dev` (the first on ties); the same seed gives the same network."""
    generator = torch.Generator().manual_seed(seed)
    network = _mlp(train.vectors.shape[1], classes, settings, generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    vectors, labels = torch.from_numpy(train.vectors), torch.from_numpy(train.labels)
    best, state = -1.0, {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(settings.epochs):
        network.train()
        for rows in torch.randperm(len(labels), generator=generator).split(settings.batch):
            loss = nn.functional.cross_entropy(network(vectors[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        correct = float((predict(network, dev.vectors) == dev.labels).mean())
        if correct > best:
            best, state = correct, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(state)
    return network


def few_shot_predictions(train: LabelledVectors, vectors: np.ndarray) -> np.ndarray:
    """(draws, rows) classes by MTEB's logistic regressions, each on a few examples of every label.

    MTEB draws with one seed and shuffles the order of the draw before, and so does this: the same examples.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    order = list(range(len(train.labels)))
    found = []
    for _ in range(DRAWS):
        np.random.RandomState(_MTEB_SEED).shuffle(order)
        rows = first_of_each(train.labels, order)
        model = LogisticRegression(max_iter=100).fit(train.vectors[rows], train.labels[rows])
        found.append(model.predict(vectors))
    return np.stack(found)


def first_of_each(labels: np.ndarray, order: list[int]) -> list[int]:
    """The first few rows of each label in an order."""
    taken: Counter[int] = Counter()
    rows = []
    for row in order:
        if taken[labels[row]] < FEW:
            taken[labels[row]] += 1
            rows.append(row)
    return rows


def predict(network: nn.Module, vectors: np.ndarray) -> np.ndarray:
    """The class of each row."""
    network.eval()
    with torch.inference_mode():
        return network(torch.from_numpy(vectors)).argmax(dim=1).numpy()


class _Dropout(nn.Module):
    """Dropout from a generator of its own, so that nothing else in the process changes the result."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        super().__init__()
        self.share, self.generator = share, generator

    def forward(self, values: Tensor) -> Tensor:
        if not self.training or not self.share:
            return values
        keep = torch.rand(values.shape, generator=self.generator) >= self.share
        return values * keep / (1 - self.share)


def _mlp(dim: int, classes: int, settings: MlpSettings, generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    sizes = (dim, *settings.hidden, classes)
    for i, (width, following) in enumerate(pairwise(sizes)):
        layer = nn.Linear(width, following)
        bound = width**-0.5
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        layers.append(layer)
        if i < len(settings.hidden):
            layers += [nn.Tanh() if i + 1 < len(settings.hidden) else nn.ReLU(), _Dropout(settings.dropout, generator)]
    return nn.Sequential(*layers)
