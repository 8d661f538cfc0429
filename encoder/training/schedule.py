"""How far a run is, and the learning rate there."""

from __future__ import annotations

import math
from typing import NamedTuple

from encoder.training.training_settings import LimitSettings, ScheduleSettings


class Position(NamedTuple):
    """What a run has used so far."""

    step: int
    pairs: int
    seconds: float


def progress(position: Position, limits: LimitSettings, epoch_pairs: int) -> float:
    """Share of the run that is done, by the limit that will be reached first."""
    shares = [
        position.step / limits.steps if limits.steps else 0.0,
        position.pairs / (limits.epochs * epoch_pairs) if limits.epochs else 0.0,
        position.pairs / limits.examples if limits.examples else 0.0,
        position.seconds / (60 * limits.minutes) if limits.minutes else 0.0,
    ]
    return min(max(shares), 1.0)


def learning_rate_factor(done: float, step: int, schedule: ScheduleSettings) -> float:
    """What to multiply the learning rate by, at share `done` of the run and `step` updates."""
    by_share = schedule.warmup < 1
    if by_share:
        warm = min(1.0, (done + 1e-4) / schedule.warmup) if schedule.warmup else 1.0
        start = schedule.warmup
    else:
        warm = min(1.0, (step + 1) / schedule.warmup)
        start = done * min(1.0, schedule.warmup / max(step, 1))  # the share of the run that the warm-up took
    after = max(0.0, done - start) / (1 - start) if start < 1 else 0.0
    match schedule.decay:
        case "cosine":
            left = 0.5 * (1 + math.cos(math.pi * after))
        case "linear":
            left = 1 - after
        case "inverse-sqrt":  # Vaswani et al. 2017; by share of the run or by steps, like the warm-up
            now = done if by_share else step + 1
            left = min(1.0, math.sqrt(schedule.warmup / now)) if schedule.warmup and now else 1.0
    return warm * (schedule.end + (1 - schedule.end) * left)
