"""When a loop ends, and which of its rounds is the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Verdict(NamedTuple):
    best: int
    stop: str | None  # why; None to go on


def judge(scores: Sequence[float], *, max_rounds: int, patience: int, least_gain: float) -> Verdict:
    """From the held-out scores of rounds 0, 1 ...; of equal rounds the first is best."""
    best = 0
    for number, score in enumerate(scores):
        if score > scores[best] + least_gain:
            best = number
    stale = len(scores) - 1 - best
    if stale >= patience:
        rounds = "a round" if stale == 1 else f"{stale} rounds"
        return Verdict(best, f"no better score for {rounds} after round {best}")
    if len(scores) > max_rounds:
        return Verdict(best, f"all {max_rounds} rounds are done")
    return Verdict(best, None)
