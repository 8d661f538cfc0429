"""glibc's allocator, which keeps and gives back memory as it is told; other C libraries are left as they are."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def trim_allocator() -> None:
    """Give what is free back to the system."""
    _call("malloc_trim", 0)


def set_allocator(parameters: dict[int, int]) -> None:
    """Set parameters of glibc's malloc.h."""
    for parameter, value in parameters.items():
        _call("mallopt", parameter, value)


def _call(name: str, *arguments: int) -> None:
    function = _function(name)
    if function is not None:
        function(*arguments)


@cache
def _function(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
