"""Which library multiplies float32 matrices on a CPU: MKL is slow on processors that are not Intel's.

On a Zen 5 oneDNN makes 250 billion operations a second on a core where MKL makes 100, both in full float32. Torch hands
float32 products to oneDNN only where it is told that bfloat16 would do, which oneDNN takes up on nothing but AMX, and
that only Intel has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

_CPU_INFO = Path("/proc/cpuinfo")
_library: Any = torch.backends.mkldnn  # oneDNN by its former name
_ONEDNN = "bf16"  # what torch wants to hear
_lock = threading.Lock()
_inside = 0  # how many threads are in `fast_products`; torch has one setting for all of them
_chosen = "none"  # what it was before the first of them


@contextmanager
def fast_products() -> Iterator[None]:
    """Have torch multiply float32 by oneDNN on the CPU meanwhile, where that is faster and as exact."""
    if not onednn_is_faster():
        yield
        return
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _chosen
    with _lock:
        if not _inside:
            _chosen = _library.matmul.fp32_precision
            _library.matmul.fp32_precision = _ONEDNN
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if not _inside:
            _library.matmul.fp32_precision = _chosen


@cache
def onednn_is_faster() -> bool:
    """An AMD processor without AMX that has the instructions which torch asks for before it calls oneDNN."""
    try:
        processor = _CPU_INFO.read_text("utf-8")
    except OSError:
        return False
    amd = "AuthenticAMD" in processor and "amx" not in processor
    return amd and _library.is_available() and torch.cpu._is_avx512_bf16_supported()
