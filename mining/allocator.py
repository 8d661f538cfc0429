"""glibc's allocator, which keeps and gives back memory as it is told; other C libraries are left as they are."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# Parameters of glibc's malloc.h, what they are where freed memory is kept, and their defaults.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_KEPT = {_MMAP_MAX: 0, _TRIM_THRESHOLD: (1 << 31) - 1, _TOP_PAD: 256 << 20}
_USUAL = {_MMAP_MAX: 65_536, _TRIM_THRESHOLD: 128 << 10, _TOP_PAD: 128 << 10}


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Have glibc keep what is freed meanwhile, for the next step that makes the same large arrays.

    By default each comes from the system, which clears it page by page, and goes back there: a quarter of the time of a
    training step of a bag, and two fifths of gathering the vectors of a key.
    """
    _set_allocator(_KEPT)
    try:
        yield
    finally:
        _set_allocator(_USUAL)
        trim_allocator()


def trim_allocator() -> None:
    """Give what is free back to the system."""
    _call("malloc_trim", 0)


def _set_allocator(parameters: dict[int, int]) -> None:
    for parameter, value in parameters.items():
        _call("mallopt", parameter, value)


def _call(name: str, *arguments: int) -> None:
    function = _function(name)
    if function is not None:
        function(*arguments)


@cache
def _function(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
