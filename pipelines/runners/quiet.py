"""Beam without its warnings of optional packages. Nothing heavy is imported here: it must run before Beam is."""

from __future__ import annotations

import logging


def quiet_beam() -> None:
    """Beam warns of optional packages when it is imported."""
    logging.getLogger().setLevel(logging.ERROR)


def start_quiet_worker() -> None:
    """For the start of a pool's worker process that will import Beam."""
    from encoder.workers import start_worker

    start_worker()
    quiet_beam()
