"""Several processes as one trainer: started by torchrun, silent when there is only one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor

Result = TypeVar("Result")
_BUCKET_BYTES = 32 << 20  # one all-reduce per 32 MiB of gradients


@contextmanager
def process_group() -> Iterator[torch.device]:
    """Join the group that torchrun describes in the environment, if any; yields this process's device."""
    joined = "WORLD_SIZE" in os.environ and not dist.is_initialized()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if joined:
        dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield device
    finally:
        if joined:
            dist.destroy_process_group()


def launched_rank() -> int:
    """This process's number according to torchrun, before and after the group is joined."""
    return int(os.environ.get("RANK", 0))


def world_size() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def gather(tensor: Tensor) -> Tensor:
    """Rows of all processes in rank order, with gradients flowing back to the process that made them.

    Every process must hold equally many rows.
    """
    return tensor if world_size() == 1 else cast(Tensor, _Gather.apply(tensor.contiguous()))


class Gathered(NamedTuple):
    """Rows of all processes, and where this process's begin."""

    rows: Tensor
    first: int


def gather_ragged(tensor: Tensor) -> Gathered:
    """`gather` for processes that hold different numbers of rows."""
    if world_size() == 1:
        return Gathered(tensor, 0)
    counts = gather(torch.tensor([len(tensor)], device=tensor.device))
    most = int(counts.max())
    filler = tensor.new_zeros(most - len(tensor), *tensor.shape[1:])
    everything = gather(torch.cat([tensor, filler]))  # (processes x most, ...)
    real = torch.arange(most, device=tensor.device) < counts[:, None]
    return Gathered(everything[real.flatten()], int(counts[: rank()].sum()))


class _Gather(torch.autograd.Function):
    """Each process's loss depends on everybody's rows, so a row's gradient is the sum over all processes."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.rows = len(tensor)
        parts = [torch.empty_like(tensor) for _ in range(world_size())]
        dist.all_gather(parts, tensor)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total)
        return total[rank() * ctx.rows : (rank() + 1) * ctx.rows]


def average(value: Tensor) -> Tensor:
    """Mean of a detached tensor over the processes."""
    if world_size() > 1:
        value = value.detach().clone()
        dist.all_reduce(value)
        value /= world_size()
    return value


def same_number(value: float, device: torch.device) -> float:
    """The first process's number."""
    if world_size() == 1:
        return value
    answer = torch.tensor(value, dtype=torch.float64, device=device)
    dist.broadcast(answer, 0)
    return float(answer)


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Mean of the gradients over the processes, in buckets.

    Called after the whole backward pass rather than through the hooks of DistributedDataParallel, because the gradient
    cache runs several backward passes of which only their sum may be averaged.
    """
    if world_size() == 1:
        return
    parameters = list(parameters)
    sparse = [parameter.grad is not None and parameter.grad.is_sparse for parameter in parameters]
    sparse = _on_any_process(sparse, parameters[0].device)
    for bucket in _buckets(parameters):
        flat = torch.cat([gradient.flatten() for gradient in bucket])
        dist.all_reduce(flat)
        flat /= world_size()
        for gradient, part in zip(bucket, flat.split([g.numel() for g in bucket]), strict=True):
            gradient.copy_(part.view_as(gradient))
    for parameter, rows_only in zip(parameters, sparse, strict=True):
        if rows_only and parameter.grad is not None:  # again the used rows alone, as lazy Adam leaves the others be
            parameter.grad = parameter.grad.to_sparse(1)


def _on_any_process(flags: list[bool], device: torch.device) -> list[bool]:
    anywhere = torch.tensor(flags, dtype=torch.int32, device=device)
    dist.all_reduce(anywhere, op=dist.ReduceOp.MAX)
    return anywhere.bool().tolist()


def _buckets(parameters: Iterable[Tensor]) -> Iterator[list[Tensor]]:
    bucket: list[Tensor] = []
    size = 0
    for parameter in parameters:
        # A parameter that this process's batch did not touch still takes part in the collective.
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        elif parameter.grad.is_sparse:  # processes use different rows
            parameter.grad = parameter.grad.to_dense()
        bucket.append(parameter.grad)
        size += parameter.grad.nbytes
        if size >= _BUCKET_BYTES:
            yield bucket
            bucket, size = [], 0
    if bucket:
        yield bucket


def first_process_first(work: Callable[[], Result]) -> Result:
    """Run `work` on the first process, then on the others, which find in the cache what it made."""
    if rank() == 0:
        result = work()
        if world_size() > 1:
            dist.barrier()
        return result
    dist.barrier()
    return work()
