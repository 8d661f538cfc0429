"""Memory that a training step frees stays with the process, for the next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mining.allocator import set_allocator, trim_allocator

# Parameters of glibc's malloc.h, what they are in training, and their defaults.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_KEPT = {_MMAP_MAX: 0, _TRIM_THRESHOLD: (1 << 31) - 1, _TOP_PAD: 256 << 20}
_USUAL = {_MMAP_MAX: 65_536, _TRIM_THRESHOLD: 128 << 10, _TOP_PAD: 128 << 10}


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Have glibc keep what is freed meanwhile; other C libraries are left as they are.

    Every step makes the same large arrays. By default each comes from the system, which clears it page by page, and
    goes back there: a quarter of the time of a bag's step.
    """
    set_allocator(_KEPT)
    try:
        yield
    finally:
        set_allocator(_USUAL)
        trim_allocator()
