"""The course of a run by its validation, and what of it a person should be told."""

from __future__ import annotations

from typing import NamedTuple

_POINTS = 0.1  # lost since the first evaluation


class Course(NamedTuple):
    """Figures of the validation, the higher the better."""

    start: float | None  # of the encoder that training began with
    first_step: int  # of the first evaluation
    best: float
    best_step: int
    last: float

    @property
    def diverged(self) -> bool:
        fell = self.best_step == self.first_step and self.last < self.best - _POINTS
        return fell or self.last < self.best / 2

    def warnings(self, title: str) -> list[str]:
        """One sentence each, about the figure named `title`."""
        messages = []
        if self.diverged:
            messages.append(
                f"{title} fell from {100 * self.best:.1f} at step {self.best_step:,} to {100 * self.last:.1f} at the "
                "end, so the run diverged; lower optimizer.lr, or raise schedule.warmup"
            )
        if self.start is not None and self.best < self.start:
            messages.append(
                f"{title} is {100 * self.best:.1f} at best, and was {100 * self.start:.1f} at the start: training made "
                "the encoder worse; lower optimizer.lr, or give more pairs"
            )
        return messages
