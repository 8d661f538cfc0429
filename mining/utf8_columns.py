"""Columns of texts as UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def utf8_content(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 bytes of a column and where each text starts (and the last ends)."""
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    large = texts.cast(pa.large_string())
    _, offsets, data = large.buffers()
    starts = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1]
    return (np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)), starts
