"""In-batch contrastive loss on pairs, with known translations kept out of the negatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from encoder.batch import Batch
from encoder.distributed import gather, rank, world_size

Result = TypeVar("Result")
_HALF = (torch.float16, torch.bfloat16)
_SAFE_TEMPERATURE = 0.02  # exp(1 / temperature) and its sums stay far from the largest float32
_HIT_ROWS = 512  # the in-batch P@1 is for watching: this many rows tell enough


def in_float32(compute: Callable[..., Result]) -> Callable[..., Result]:
    """Has a function on vectors compute in float32, whatever autocast says: 16 bits cannot tell near cosines apart."""

    @wraps(compute)
    def computed(*inputs: Any, **options: Any) -> Result:
        with torch.autocast(inputs[0].device.type, enabled=False):
            floats = (x.float() if isinstance(x, Tensor) and x.dtype in _HALF else x for x in inputs)
            return compute(*floats, **options)

    return computed


@in_float32
def similarities(queries: Tensor, candidates: Tensor) -> Tensor:
    """Dot products (queries, candidates)."""
    return queries @ candidates.T


def pair_keys(batch: Batch) -> Tensor:
    """(pairs, 3): hashes of the left text, the right text and the meaning. Pairs that share a key mean the same."""
    left, right = batch.text.chunk(2)
    return torch.stack([left, right, batch.meaning.chunk(2)[0]], dim=1)


def shared_keys(keys: Tensor, all_keys: Tensor) -> tuple[Tensor, Tensor]:
    """Cells (row of `keys`, row of `all_keys`) that have a key in common, some of them twice; each row has some keys.

    A sparse join: comparing everything with everything would cost as much as the loss.
    """
    values, order = all_keys.flatten().sort()
    wanted = keys.flatten()
    start = torch.searchsorted(values, wanted)
    count = torch.searchsorted(values, wanted, right=True) - start
    total = int(count.sum())
    hit = torch.arange(len(wanted), device=keys.device).repeat_interleave(count, output_size=total)
    within = torch.arange(total, device=keys.device) - (count.cumsum(0) - count)[hit]
    return hit // keys.shape[1], order[start[hit] + within] // all_keys.shape[1]


def same_meaning(keys: Tensor, all_keys: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """Cells where *different* examples share a key; row `i` of `keys` is row `first + i` of `all_keys`."""
    rows, columns = shared_keys(keys, all_keys)
    other = rows + first != columns
    return rows[other], columns[other]


@in_float32
def contrastive_loss(
    left: Tensor, right: Tensor, keys: Tensor, temperature: float, margin: float = 0.0, *, local: bool = False
) -> tuple[Tensor, Tensor]:
    """Mean over pairs of -log softmax in both directions, summed (EMS equation 8), and the in-batch P@1.

    `left` and `right` are (pairs, dim) and compared by cosine; `keys` is (pairs, n), see `pair_keys`. A `margin` is
    taken off the cosines of the pairs, which have to win by that much (Yang et al. 2019, as in LaBSE). Negatives are
    those of all processes, or with `local` of this one.
    """
    left, right = functional.normalize(left, dim=1), functional.normalize(right, dim=1)
    local = local or world_size() == 1
    if not local or temperature < _SAFE_TEMPERATURE:
        return dot_product_loss(left, right, keys, temperature, margin, local=local)
    rows, columns = same_meaning(keys, keys, 0)
    loss = _CosineLoss.apply(left, right, rows, columns, temperature, margin)
    return loss, _hits(left[:_HIT_ROWS].detach(), right.detach(), rows, columns)


class _CosineLoss(torch.autograd.Function):
    """The symmetric loss of unit vectors with its gradient by hand, in one (pairs, pairs) matrix.

    Autograd would keep four matrices and pass over them a dozen times, which on a CPU costs more than the products.
    """

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, rows: Tensor, columns: Tensor, temperature: float, margin: float
    ) -> Tensor:
        matrix = (left / temperature) @ right.T  # (pairs, pairs)
        matrix.diagonal().sub_(margin / temperature)
        positive = matrix.diagonal().clone()
        matrix.exp_()
        matrix[rows, columns] = 0
        forward, backward = matrix.sum(1), matrix.sum(0)
        # The gradient of the logits: softmax over rows plus softmax over columns minus twice the identity.
        matrix.mul_(forward.reciprocal()[:, None] + backward.reciprocal())
        matrix.diagonal().sub_(2)
        scale = 1 / (temperature * len(left))
        ctx.save_for_backward((matrix @ right).mul_(scale), (matrix.T @ left).mul_(scale))
        return (forward.log() + backward.log() - 2 * positive).mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        left, right = ctx.saved_tensors
        return left * gradients[0], right * gradients[0], None, None, None, None


def _hits(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Share of left vectors whose nearest right one is their own, known translations aside."""
    cosines = left @ right.T
    known = rows < len(left)
    cosines[rows[known], columns[known]] = -torch.inf
    return (cosines.argmax(1) == torch.arange(len(left), device=left.device)).float().mean()


@in_float32
def dot_product_loss(
    left: Tensor, right: Tensor, keys: Tensor, temperature: float, margin: float = 0.0, *, local: bool = False
) -> tuple[Tensor, Tensor]:
    """The same for vectors as they are."""
    local = local or world_size() == 1
    first = 0 if local else rank() * len(left)
    own = torch.arange(first, first + len(left), device=left.device)
    rows, columns = same_meaning(keys, keys if local else gather(keys), first)
    forward = masked_logits(left, right if local else gather(right), rows, columns, temperature)  # (pairs, all pairs)
    hits = forward.detach().argmax(1) == own
    handicap = functional.one_hot(own, forward.shape[1]) * (margin / temperature) if margin else 0.0
    forward = forward - handicap
    positive = ((left * right).sum(1) - margin) / temperature  # not the diagonal: its gradient would be another matrix
    if local:
        backward_partition = forward.logsumexp(0)
    else:
        backward = masked_logits(right, gather(left), rows, columns, temperature) - handicap
        backward_partition = backward.logsumexp(1)
    loss = (forward.logsumexp(1) + backward_partition - 2 * positive).mean()
    return loss, hits.float().mean()


@in_float32
def masked_logits(queries: Tensor, candidates: Tensor, rows: Tensor, columns: Tensor, temperature: float) -> Tensor:
    """Dot products over `temperature`, with minus infinity in the cells (rows, columns)."""
    logits = (queries / temperature) @ candidates.T
    if len(rows):
        logits[rows, columns] = -torch.inf
    return logits
