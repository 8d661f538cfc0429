"""The optimizer of a run, with a learning rate of its own for some of the parameters."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from encoder.training.lazy_adam import LazyAdam
from encoder.training.training_settings import OptimizerSettings
from mining.errors import InputError


def make_optimizer(settings: OptimizerSettings, modules: nn.Module) -> torch.optim.Optimizer:
    """Fused: one pass over parameters and moments instead of ten, on CPU as on CUDA."""
    groups = _groups(settings, modules)
    if settings.kind == "lazy_adam":
        return LazyAdam(groups, settings.lr, settings.betas, settings.eps)
    if settings.kind == "adafactor":
        return torch.optim.Adafactor(groups, lr=settings.lr, weight_decay=settings.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.kind]
    return kind(
        groups,
        lr=settings.lr,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
        amsgrad=settings.amsgrad,
        fused=True,
    )


def set_learning_rates(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Every group at `factor` times its highest learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = group["highest"] * factor


def _groups(settings: OptimizerSettings, modules: nn.Module) -> list[dict[str, Any]]:
    """Parameters by the first pattern that fits their name, and those that none fits."""
    rates = [*(group.lr for group in settings.groups), settings.lr]
    members: list[list[nn.Parameter]] = [[] for _ in rates]
    names = [name for name, _ in modules.named_parameters()]
    for name, parameter in modules.named_parameters():
        fits = (i for i, group in enumerate(settings.groups) if fnmatchcase(name, group.parameters))
        members[next(fits, -1)].append(parameter)
    for group, found in zip(settings.groups, members[:-1], strict=True):
        if not found:
            raise InputError(
                f"optimizer.groups: no parameter is called like {group.parameters!r} and free; they are "
                f"{', '.join(names)}"
            )
    return [{"params": found, "highest": rate} for found, rate in zip(members, rates, strict=True) if found]
