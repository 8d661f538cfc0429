"""Memory that is free in this process goes back to the system, which the allocators by themselves do late or never."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any


def release_memory() -> None:
    """Of Arrow's pool and of the C library's, where there are such."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _trim() -> Any:
    """glibc's `malloc_trim`; other systems have none."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
