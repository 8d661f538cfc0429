"""Forward and backward of one batch, whole or through a gradient cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    starts = range(0, batch.sentences, chunk)
    chunks = [slice_tokens(batch.tokens, start, min(start + chunk, batch.sentences)) for start in starts]
    device = batch.example.device
    vectors, states = _encode_without_graph(encode, chunks, autocast, device)
    with autocast():
        loss = objective.loss(vectors, batch, done)
    scale(loss.total).backward()
    assert vectors.grad is not None
    _encode_for_gradients(encode, chunks, states, vectors.grad.split(chunk), autocast, device)
    return loss


def _encode_without_graph(
    encode: Encode, chunks: Sequence[TokenBatch], autocast: Autocast, device: torch.device
) -> tuple[Tensor, list[Tensor]]:
    """The vectors of all chunks, and the state of the random generator before each."""
    states, parts = [], []
    for tokens in chunks:
        states.append(_rng_state(device))
        with torch.no_grad(), autocast():
            parts.append(encode(tokens).float())
    return torch.cat(parts).requires_grad_(), states


def _encode_for_gradients(
    encode: Encode,
    chunks: Sequence[TokenBatch],
    states: Sequence[Tensor],
    gradients: Sequence[Tensor],
    autocast: Autocast,
    device: torch.device,
) -> None:
    """Encode each chunk again, with the same dropout, and pass the gradients of its vectors on to the parameters."""
    after = _rng_state(device)
    for tokens, state, gradient in zip(chunks, states, gradients, strict=True):
        _set_rng_state(state, device)
        with autocast():
            again = encode(tokens).float()
        (again * gradient).sum().backward()  # its gradient with respect to `again` is `gradient`
    _set_rng_state(after, device)


def _rng_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_rng_state(state: Tensor, device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
