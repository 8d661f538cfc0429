"""Where a stage runs: one function that takes a root transform to a runner, and its errors back to sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import apache_beam as beam
from pydantic import BaseModel, ConfigDict, Field

from mining.errors import InputError
from pipelines.local import cores, run_local
from pipelines.progress import Watch, shown

_INPUT_ERROR = re.compile(r"\b(?:mining|encoder)\.errors\.InputError: (.+?)(?: \[while running '|\\n|\n|$)")


class RunnerSettings(BaseModel):
    """Which runner, and how much of the machine the local one takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["local"] = "local"
    processes: int | None = Field(
        default=None, ge=1, description="local worker processes; at most one for each core unless told"
    )


def run(transform: beam.PTransform, settings: RunnerSettings, *, workers: int, watch: Watch | None = None) -> None:
    """Run a root transform to its end; more than `workers` workers would not pay for their start.

    An `InputError` on a worker is raised here as it was there; anything else stays a Beam error.
    """
    with shown(watch), _as_sentences():
        run_local(transform, settings.processes or max(min(cores(), workers), 1))


@contextmanager
def _as_sentences() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        found = _INPUT_ERROR.search(str(error))
        if found is None:
            raise
        raise InputError(found[1]) from None
