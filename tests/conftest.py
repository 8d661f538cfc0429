"""Shared fixtures."""

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine or a first compilation must not fail a property test.
settings.register_profile("twinlode", deadline=None)
settings.load_profile("twinlode")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real corpora beside the checkout; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real corpora are not at {SHARED_DATA}")
    return SHARED_DATA
