"""Forward and backward of one batch, whole or through a gradient cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from encoder.batch import Batch, slice_tokens
from encoder.objectives.objective import Loss, Objective
from encoder.tokens import TokenBatch

Encode = Callable[[TokenBatch], Tensor]
Autocast = Callable[[], AbstractContextManager[None]]


def backward(
    encode: Encode,
    objective: Objective,
    batch: Batch,
    *,
    done: float,
    scale: Callable[[Tensor], Tensor],
    autocast: Autocast,
    chunk: int,
) -> Loss:
    """Add the gradients of `scale(loss)` to the parameters.

    With `chunk`, sentences are encoded this many at a time and twice: once to get the vectors, whose gradients the loss
    then gives, and once more to pass these on. Memory is that of one chunk; gradients are those of the whole batch.
    """
    batch = objective.arrange(batch)
    if not chunk or chunk >= batch.sentences:
        with autocast():
            loss = objective.loss(encode(batch.tokens).float(), batch, done)
        scale(loss.total).backward()
        return loss
    return _cached(encode, objective, batch, done, scale, autocast, chunk)


def _cached(
    encode: Encode,
    objective: Objective,
    batch: Batch,
    done: float,
    scale: Callable[[Tensor], Tensor],
    autocast: Autocast,
    chunk: int,
) -> Loss:
    pieces = [
        slice_tokens(batch.tokens, start, min(start + chunk, batch.sentences))
        for start in range(0, batch.sentences, chunk)
    ]
    states, parts = [], []
    for piece in pieces:
        states.append(_rng_state(batch.example.device))
        with torch.no_grad(), autocast():
            parts.append(encode(piece).float())
    vectors = torch.cat(parts).requires_grad_()
    with autocast():
        loss = objective.loss(vectors, batch, done)
    scale(loss.total).backward()
    after = _rng_state(batch.example.device)
    assert vectors.grad is not None
    for piece, state, gradient in zip(pieces, states, vectors.grad.split(chunk), strict=True):
        _set_rng_state(state, batch.example.device)  # the same dropout as the first time
        with autocast():
            again = encode(piece).float()
        (again * gradient).sum().backward()  # its gradient with respect to `again` is `gradient`
    _set_rng_state(after, batch.example.device)
    return loss


def _rng_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_rng_state(state: Tensor, device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
