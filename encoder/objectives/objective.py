"""What an objective is: a data shape, some heads of its own, and a loss on sentence vectors."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from encoder.batch import Batch, DataShape
from encoder.models import Pretrained


class Loss(NamedTuple):
    """The number to minimise, and the parts worth watching (detached)."""

    total: Tensor
    parts: dict[str, Tensor]


class EncoderFacts(NamedTuple):
    """What an objective may know of the encoder it trains when it builds its heads."""

    dim: int
    vocabulary: int
    languages: tuple[str, ...]
    embedding: nn.Parameter | None  # input embedding (vocabulary, width); None when the encoder has none to share
    dropout: bool = False  # whether encoding a sentence twice gives two vectors while training
    pretrained: Pretrained | None = None  # the encoder itself, where it comes from transformers


class Objective(nn.Module):
    """One objective a file. The loss sees the encoder only through the vectors it made.

    That is what lets the trainer use a gradient cache (`encoder/training/cache.py`): vectors of a large batch are made
    piecewise without a graph, the loss gives their gradients, and the pieces are encoded again to pass these on. So
    `loss` must depend on the encoder through `vectors` alone, and bound its own memory by working in chunks. Across
    processes the loss is the mean over the examples of *this* process; sentences of the others join as negatives
    through `encoder.distributed.gather`.
    """

    shape: DataShape  # what its batches hold; training refuses corpora that cannot give it
    positives: int = 1  # sentences beside the anchor that it takes of each example, of groups and triples
    least: int = 2  # sentences of the smallest group that it learns from
    languages: tuple[str, ...] | None = None  # of single sentences; None for all

    def begin(self, step: int, progress: float) -> float:
        """Called before each update; answers what to multiply the learning rate by."""
        return 1.0

    def arrange(self, batch: Batch) -> Batch:
        """The sentences to encode; override to repeat or pick sentences before the encoder sees them."""
        return batch

    def loss(self, vectors: Tensor, batch: Batch, progress: float) -> Loss:
        """Mean loss per example; `progress` goes from 0 to 1 over the run, for annealed weights."""
        raise NotImplementedError

    def warning(self, parts: dict[str, float]) -> str | None:
        """What the user should know about a run that has these parts after a while."""
        return None
