"""Runs that differ in their random seed alone, and the one encoder that they are merged into.

What a seed gets wrong by chance the others rarely do, so two merged runs are worth more than one of twice the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from encoder import distributed
from encoder.bag_merge import merge_bags
from encoder.checkpoint import SUBWORD, load_checkpoint, save_checkpoint
from encoder.models import Bag
from encoder.training.schedule import Position
from encoder.training.state import BEST, STATE_FILE, save_facts
from encoder.training.trainer import Trained, TrainingResult
from encoder.training.training_card import write_training_card
from encoder.training.training_settings import TrainSettings

_SAMPLE = 100_000  # sentences of the training text, whose vectors say which directions matter


def members(settings: TrainSettings, out: Path) -> list[tuple[TrainSettings, Path]]:
    """Settings and folder of each run; their tokens they share."""
    data = settings.data.model_copy(update={"cache": settings.data.cache or str(out / "data")})
    seeds = range(settings.random_seed, settings.random_seed + settings.members)
    alone = {"members": 1, "data": data}
    return [(settings.model_copy(update=alone | {"random_seed": seed}), out / f"seed-{seed}") for seed in seeds]


def merge_members(settings: TrainSettings, out: Path, trained: Sequence[Trained]) -> Trained:
    """Write the members as one encoder into `out`, which then looks like the folder of any finished run."""
    store = trained[0].store
    bags = [cast(Bag, load_checkpoint(member.folder).model) for member in trained]
    model = merge_bags(bags, bags[0].dim, store.sample(_SAMPLE))
    validation = trained[0].validation
    best = validation.measure(model) if validation else None
    result = _total([member.result for member in trained])._replace(best=best)
    if distributed.rank() == 0:
        metrics: dict[str, float] = {"step": result.position.step}
        if validation and best is not None:
            metrics[validation.name] = best
        save_checkpoint(out / BEST, model, settings, trained[0].folder / SUBWORD, metrics)
        write_training_card(out / BEST, settings, store)
        facts: dict[str, Any] = {"position": result.position, "best": best, "best_step": result.best_step}
        facts |= {"settings": settings.model_dump(mode="json"), "data": store.folder.name}
        save_facts(out / STATE_FILE, facts)
    return trained[0]._replace(result=result, folder=out / BEST)


def _total(results: Sequence[TrainingResult]) -> TrainingResult:
    """What all runs together took."""
    columns = zip(*(result.position for result in results), strict=True)
    position = Position(*map(sum, columns))
    skipped = sum(result.skipped for result in results)
    return TrainingResult(position, None, position.step, skipped, any(result.stopped_early for result in results))
