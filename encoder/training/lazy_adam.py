"""Adam that updates only the embedding rows a batch used: hashed tables of any size cost what is touched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numba as nb
import numpy as np
import torch
from torch import Tensor, nn


class LazyAdam(torch.optim.Optimizer):
    """Adam whose moments of a row stand still while the row is not used; dense gradients get plain Adam."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state |= {"step": 0, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}
        state["step"] += 1
        beta1, beta2 = group["betas"]
        rate = group["lr"] / (1 - beta1 ** state["step"])
        scale = math.sqrt(1 - beta2 ** state["step"])
        moments = state["exp_avg"], state["exp_avg_sq"]
        gradient = parameter.grad
        assert gradient is not None
        numbers = rate, beta1, beta2, group["eps"], scale
        compiled = parameter.device.type == "cpu" and parameter.is_contiguous()
        if gradient.is_sparse:
            gradient = coalesced(gradient)
            update = _update_rows if compiled else _gather_and_update
            update([parameter, *moments, gradient.values().contiguous()], gradient.indices()[0], numbers)
        elif compiled:
            rows = torch.arange(len(parameter) if parameter.dim() else 1)
            _update_rows([parameter, *moments, gradient.contiguous()], rows, numbers)
        else:
            _adam(parameter, *moments, gradient, *numbers)


def _update_rows(tensors: list[Tensor], rows: Tensor, numbers: tuple[float, ...]) -> None:
    """Weight, mean and square of all rows, and the gradient of `rows`, as tables of one row at least."""
    tables: list[Any] = [tensor.detach().numpy() for tensor in tensors]
    if tables[0].ndim != 2:
        tables = [table.reshape(len(table) if table.ndim else 1, -1) for table in tables]
    arguments: list[Any] = [*tables, rows.numpy(), *map(np.float32, numbers)]
    with _as_many_threads_as_torch():
        _rows(*arguments)


def _gather_and_update(tensors: list[Tensor], rows: Tensor, numbers: tuple[float, ...]) -> None:
    """The same for tables on a GPU, or with columns side by side."""
    *whole, gradient = tensors
    weight, mean, square = (tensor[rows] for tensor in whole)
    _adam(weight, mean, square, gradient, *numbers)
    for tensor, part in zip(whole, (weight, mean, square), strict=True):
        tensor[rows] = part


@contextmanager
def _as_many_threads_as_torch() -> Iterator[None]:
    """Both share OpenMP: numba would use all cores, and leave torch with as many threads from then on."""
    threads = torch.get_num_threads()
    nb.set_num_threads(min(threads, nb.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    yield
    torch.set_num_threads(threads)


def _adam(
    weight: Tensor, mean: Tensor, square: Tensor, gradient: Tensor,
    rate: float, beta1: float, beta2: float, eps: float, scale: float,
) -> None:  # fmt: skip
    mean.lerp_(gradient, 1 - beta1)
    square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    weight.addcdiv_(mean, square.sqrt().div_(scale).add_(eps), value=-rate)


@nb.njit(parallel=True, fastmath=True, cache=True)
def _rows(
    weight: np.ndarray,  # (rows, dim)
    mean: np.ndarray,
    square: np.ndarray,
    gradient: np.ndarray,  # (used rows, dim)
    used: np.ndarray,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    scale: float,
) -> None:
    """One pass over the used rows; torch would gather and scatter each of the three tables."""
    for i in nb.prange(len(used)):
        row = used[i]
        for j in range(weight.shape[1]):
            g = gradient[i, j]
            m = beta1 * mean[row, j] + (np.float32(1) - beta1) * g
            s = beta2 * square[row, j] + (np.float32(1) - beta2) * g * g
            mean[row, j] = m
            square[row, j] = s
            weight[row, j] -= rate * m / (np.sqrt(s) / scale + eps)


def coalesced(gradient: Tensor) -> Tensor:
    """Each row once. Autograd forgets that a gradient already is so; finding out is far cheaper than sorting again."""
    rows = gradient._indices()[0]
    return gradient._coalesced_(bool((rows[1:] > rows[:-1]).all())).coalesce()


def clip_gradients(parameters: Iterable[nn.Parameter], largest: float | None) -> Tensor:
    """Scale all gradients, sparse ones included, so that their common norm is at most `largest`; returns the norm.

    Without `largest` they stay as they are.
    """
    values = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = coalesced(parameter.grad)
            values.append(parameter.grad.values() if parameter.grad.is_sparse else parameter.grad)
    norm = torch.nn.utils.get_total_norm(values)
    if largest is not None and torch.isfinite(norm) and norm > largest:
        for value in values:
            value.mul_(largest / norm)
    return norm
