"""Held-out retrieval: how often a sentence's nearest neighbour is its translation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from encoder.batch import Batch, take_tokens
from encoder.tokens import TokenBatch

_SENTENCES = 256  # encoded at a time
_QUERIES = 1024  # compared at a time


@torch.inference_mode()
def encode_sorted(model: nn.Module, tokens: TokenBatch) -> Tensor:
    """(sentences, dim), encoded in order of length so that little is padded."""
    order = tokens.offsets.diff().argsort()
    parts = [model(take_tokens(tokens, rows)).float() for rows in order.split(_SENTENCES)]
    vectors = torch.cat(parts)
    return torch.empty_like(vectors).index_copy_(0, order, vectors)


@torch.inference_mode()
def precision_at_1(vectors: Tensor, text: Tensor) -> float:
    """Mean over both directions, by cosine; left sides first. Finding another copy of the same text is right too."""
    left, right = torch.nn.functional.normalize(vectors, dim=1).chunk(2)
    left_text, right_text = text.chunk(2)
    hits = _hits(left, right, right_text) + _hits(right, left, left_text)
    return hits / (2 * len(left))


def _hits(queries: Tensor, candidates: Tensor, text: Tensor) -> int:
    found = torch.cat([(part @ candidates.T).argmax(1) for part in queries.split(_QUERIES)])
    return int((text[found] == text).sum())


def evaluate(model: nn.Module, batch: Batch) -> float:
    """P@1 of the model, in evaluation mode, on a batch of pairs."""
    training = model.training
    model.eval()
    try:
        return precision_at_1(encode_sorted(model, batch.tokens), batch.text)
    finally:
        model.train(training)
