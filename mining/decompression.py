"""Compressed bytes as a stream that gives out everything before the damage of a cut-off or corrupt file."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any

import zstandard

_SLICE = 1 << 11  # a decoder gives nothing of the bytes in which it meets damage
_PIECE = 1 << 18
_DECODERS: dict[str, Callable[[], Any]] = {
    "gz": lambda: zlib.decompressobj(31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError, OSError, ValueError)


class Damaged(OSError):
    """The rest of a stream cannot be read: a truncated or corrupt archive."""


class Decompressed(io.RawIOBase):
    """The content of `source`, which may hold several members or frames; `Damaged` comes after the last good byte."""

    def __init__(self, source: IO[bytes], codec: str) -> None:
        self._source = source
        self._start = _DECODERS[codec]
        self._decoder = self._start()
        self._inside = True  # of a member; an empty file is no archive
        self._raw = memoryview(b"")
        self._ready = memoryview(b"")
        self._damage: Damaged | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._damage is None and self._refill():
            pass
        if not self._ready and self._damage is not None:
            raise self._damage
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _refill(self) -> bool:
        """Decode about a piece; False at the end of the file."""
        decoded = bytearray()
        more = True
        try:
            while more and len(decoded) < _PIECE:
                more = self._decode(decoded)
        except _ERRORS as error:
            self._damage = Damaged(str(error))
        self._ready = memoryview(bytes(decoded))
        return more

    def _decode(self, decoded: bytearray) -> bool:
        if not self._raw:
            self._raw = memoryview(self._source.read(_PIECE))
            if not self._raw:
                if self._inside:
                    raise EOFError("the file is cut off")
                return False
        if not self._inside:
            self._raw = memoryview(bytes(self._raw).lstrip(b"\0"))  # members may be padded
            if not self._raw:
                return True
            self._decoder, self._inside = self._start(), True
        piece, self._raw = self._raw[:_SLICE], self._raw[_SLICE:]
        decoded += self._decoder.decompress(piece)
        if self._decoder.eof:
            self._raw = memoryview(self._decoder.unused_data + bytes(self._raw))
            self._inside = False
        return True
