"""Token ids of many sentences as one flat array: what the text side makes and every model takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:  # text workers cut sentences into tokens without the seconds and memory that torch takes to load
    import torch


class Tokens(NamedTuple):
    """Ragged token ids: sentence `i` is `ids[offsets[i] : offsets[i + 1]]`."""

    ids: np.ndarray  # (total,) int32
    offsets: np.ndarray  # (sentences + 1,) int64

    @classmethod
    def from_lists(cls, sentences: Sequence[Sequence[int]]) -> Tokens:
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)), out=offsets[1:])
        return cls(np.fromiter(chain.from_iterable(sentences), np.int32, offsets[-1]), offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Tokens]) -> Tokens:
        """The sentences of all parts, one part after the other."""
        lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)])
        ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)])
        return cls(ids, np.concatenate([[0], np.cumsum(lengths)]))

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> Tokens:
        """The sentences `rows`, in that order."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Tokens(self.ids[np.repeat(self.offsets[:-1][rows], lengths) + within], offsets)

    def truncate(self, most: int) -> Tokens:
        """At most the first `most` tokens of each sentence."""
        if self.lengths.max(initial=0) <= most:
            return self
        lengths = np.minimum(self.lengths, most)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Tokens(self.ids[np.repeat(self.offsets[:-1], lengths) + within], offsets)

    def batch(self, device: torch.device | str = "cpu") -> TokenBatch:
        """As tensors; to a CUDA device from pinned memory, so that the copy waits for nothing."""
        import torch

        ids, offsets = (torch.tensor(array, dtype=torch.int64) for array in self)  # arrays of Arrow are read-only
        if torch.device(device).type == "cuda":
            ids, offsets = ids.pin_memory(), offsets.pin_memory()
        return TokenBatch(ids.to(device, non_blocking=True), offsets.to(device, non_blocking=True))


class TokenBatch(NamedTuple):
    """`Tokens` as tensors on the model's device: the input of every sentence model."""

    ids: torch.Tensor  # (total,) int64
    offsets: torch.Tensor  # (batch + 1,) int64

    def padded(self, pad_id: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids (batch, length) filled with `pad_id`, and the boolean mask of real tokens."""
        import torch

        lengths = self.offsets.diff()
        width = int(lengths.max()) if len(lengths) else 0
        mask = torch.arange(width, device=self.ids.device) < lengths[:, None]  # (batch, length)
        padded = self.ids.new_full(mask.shape, pad_id)
        padded[mask] = self.ids
        return padded, mask
