"""Free memory goes back to the system."""

import sys

import pytest

from pipelines.planning.sample_runs import own_bytes
from pipelines.runners.freed_memory import release_memory


@pytest.mark.skipif(not own_bytes(), reason="the system does not tell what a process holds")
def test_what_is_free_is_given_back() -> None:
    pieces = [bytearray(60_000) for _ in range(3000)]  # each too small for a mapping of its own
    held, last = own_bytes(), pieces[-1]
    del pieces
    release_memory()
    assert own_bytes() < held - 100_000_000
    assert last is not None


def test_no_allocator_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", {name: kept for name, kept in sys.modules.items() if name != "pyarrow"})
    release_memory()
