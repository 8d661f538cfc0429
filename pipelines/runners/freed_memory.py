"""Memory that is free in this process goes back to the system, which the allocators by themselves do late or never."""

from __future__ import annotations

import sys

from mining.allocator import trim_allocator


def release_memory() -> None:
    """Of Arrow's pool and of the C library's, where there are such."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim_allocator()
