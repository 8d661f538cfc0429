"""Bytes of files whatever their place and compression, and the errors of damaged ones as sentences."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pyarrow as pa

from encoder.urls import own_name
from mining.errors import InputError

# By Arrow rather than Python's codecs: it reads files of several members or frames and notices truncation for each.
_ARROW_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_SMALL_READ = 1 << 16
COMPRESSED = frozenset({*_ARROW_CODECS, "xz"})


def extension(url: str) -> str:
    return own_name(url).rsplit("/", 1)[-1].rpartition(".")[2].lower()


def is_compressed(url: str) -> bool:
    return extension(url) in COMPRESSED


@contextmanager
def open_bytes(url: str) -> Iterator[Any]:
    """A binary stream of the file's content, decompressed by extension."""
    try:
        with fsspec.open(url, "rb") as raw:
            codec = extension(url)
            if codec in _ARROW_CODECS:
                yield pa.CompressedInputStream(pa.PythonFile(raw, "r"), _ARROW_CODECS[codec])
            elif codec == "xz":
                with lzma.open(raw) as stream:
                    yield stream
            else:
                yield raw
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{url} is a folder; name its files, for example {url.rstrip('/')}/*.txt") from None
    except PermissionError:
        raise InputError(f"{url}: no permission to read it") from None


class Damaged(Exception):
    """The rest of a stream cannot be read: a truncated or corrupt archive."""


def read_some(stream: Any, size: int) -> bytes:
    """Up to `size` bytes, empty only at the end; `Damaged` where the archive is cut off or corrupt.

    What comes before the damage is given out first: small reads, because a failing one gives nothing.
    """
    pieces: list[bytes] = []
    missing = size
    try:
        while missing and (piece := bytes(stream.read(min(missing, _SMALL_READ)))):
            pieces.append(piece)
            missing -= len(piece)
    except (EOFError, OSError, lzma.LZMAError) as error:
        if not pieces:
            raise Damaged(str(error)) from error
    return b"".join(pieces)


def damage_error(url: str, reached: str, error: Exception) -> InputError:
    return InputError(
        f"{url}: cannot be read after {reached} ({error}); fetch the file again, "
        "or set `truncated: keep` to go on with what can be read"
    )
