"""Resource hints: what a transform asks of the machines that a runner chooses for it."""

from __future__ import annotations

import apache_beam as beam

PROCESS_BYTES = 1 << 30  # of a worker process that has imported torch and Beam and does nothing yet


def ask(transform: beam.PTransform, accelerator: str | None, memory: int | None) -> beam.PTransform:
    """The transform, with hints for an accelerator and for the memory that it takes in one worker process."""
    if accelerator:
        transform.with_resource_hints(accelerator=accelerator)
    if memory is not None:
        transform.with_resource_hints(min_ram=f"{PROCESS_BYTES + memory}B")
    return transform
