"""Product quantisation: a row of floats as one byte for each few dimensions (Jégou et al. 2011), and a length.

Directions are coded and lengths kept, since rows differ in length by far more than in anything else. A rotation that
all tables of a model share first gives every byte the same share of the variance (Ge et al. 2013, parametric OPQ).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

CODES = 256  # of a byte
_CHUNK = 1024  # rows decoded at a time, while they fit a cache


class ProductCode(NamedTuple):
    """Row `i` is `scales[i]` times the code words `codebook[m, codes[i, m]]` side by side."""

    codes: np.ndarray  # (rows, bytes) uint8
    codebook: np.ndarray  # (bytes, 256, dim / bytes) floats
    scales: np.ndarray  # (rows,) floats

    def rows(self) -> np.ndarray:
        """(rows, dim) float32, as they are remembered."""
        rows = np.empty((len(self.codes), self.codes.shape[1] * self.codebook.shape[2]), np.float32)
        for here, directions in self.directions():
            np.multiply(directions, self.scales[here, None], out=rows[here], dtype=np.float32)
        return rows

    def directions(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows without their scales, in the type of the codebook, some at a time: each array is used again."""
        code_bytes, _, width = self.codebook.shape
        words = self.codebook.reshape(-1, width)
        first = np.arange(code_bytes) * CODES  # of the words of each byte
        part = np.empty((_CHUNK, code_bytes, width), self.codebook.dtype)
        for start in range(0, len(self.codes), _CHUNK):
            here = slice(start, min(start + _CHUNK, len(self.codes)))
            count = here.stop - here.start
            np.take(words, self.codes[here] + first, axis=0, out=part[:count], mode="clip")
            yield here, part[:count].reshape(count, -1)
