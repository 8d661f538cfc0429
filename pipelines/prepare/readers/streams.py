"""Reading a stream up to its damage, and the damage as a sentence."""

from __future__ import annotations

from typing import Any

from mining.decompression import Damaged
from mining.errors import InputError


def read_some(stream: Any, size: int) -> bytes:
    """Up to `size` bytes, empty only at the end; `Damaged` where the archive is cut off or corrupt.

    What comes before the damage is given out first: by `read1`, because a buffer would lose it.
    """
    read = getattr(stream, "read1", stream.read)
    pieces: list[bytes] = []
    missing = size
    try:
        while missing and (piece := read(missing)):
            pieces.append(piece)
            missing -= len(piece)
    except OSError as error:
        if not pieces:
            raise Damaged(str(error)) from error
    return b"".join(pieces)


def damage_error(url: str, reached: str, error: Exception) -> InputError:
    return InputError(
        f"{url}: cannot be read after {reached} ({error}); fetch the file again, "
        "or go on with what can be read by --truncated keep"
    )
