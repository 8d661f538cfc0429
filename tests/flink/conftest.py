"""A run that is told to end takes its services with it."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _stop_on_sigterm() -> Iterator[None]:
    """SIGTERM, as `timeout` sends it, otherwise ends pytest at once and leaves worker pools behind."""
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", returncode=143))
    yield
    signal.signal(signal.SIGTERM, before)
