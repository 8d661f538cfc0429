"""What a step frees comes back without the system's help, and only meanwhile."""

from __future__ import annotations

import resource
import sys

import pytest
import torch

from mining.allocator import freed_memory_kept


def _faults(times: int) -> int:
    """Pages that the system gave for as many arrays of 64 MB, one after the other."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.ones(64 << 20, dtype=torch.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_freed_memory_is_kept_meanwhile() -> None:
    pages = (64 << 20) // resource.getpagesize()
    with freed_memory_kept():
        _faults(20)  # small rests of aligned arrays fill their own lists first
        assert _faults(5) < pages
    assert _faults(5) > pages


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="in a step"), freed_memory_kept():
        raise ValueError("in a step")
