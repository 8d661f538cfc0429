"""Vectors of the lines of a text file, row by row, as one NumPy file."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from tempfile import TemporaryFile

import numpy as np

from encoder.inference import Encoder
from mining.files import atomic_writer

_LINES = 1 << 16  # at a time


def write_line_vectors(out: str, lines: Iterable[str], lang: str, encoder: Encoder) -> int:
    """Write (lines, dim) float32 and return how many; an empty line is a row of zeros."""
    rows = 0
    with TemporaryFile() as spool:  # the header of the file says how many there are
        for some in _pieces(lines):
            spool.write(encoder.encode(some, lang).astype(np.float32, copy=False).tobytes())
            rows += len(some)
        spool.seek(0)
        with atomic_writer(out) as stream:
            about = {"descr": "<f4", "fortran_order": False, "shape": (rows, encoder.dim)}
            np.lib.format.write_array_header_1_0(stream, about)
            shutil.copyfileobj(spool, stream)
    return rows


def _pieces(lines: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(lines)
    while some := list(islice(remaining, _LINES)):
        yield some
