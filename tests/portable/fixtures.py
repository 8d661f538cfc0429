"""Fixtures of tests on clusters; their conftest.py files import them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.mine.text_job import mine_corpora
from tests.portable.whole_mine import pair_files, whole_mine


@pytest.fixture(scope="session", autouse=True)
def stop_on_sigterm() -> Iterator[None]:
    """SIGTERM, as `timeout` sends it, otherwise ends pytest at once and leaves worker pools behind."""
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", returncode=143))
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def expected(corpora: Path) -> list[bytes]:
    """The pairs of the local runner."""
    return pair_files(mine_corpora(whole_mine(corpora, "local")))
