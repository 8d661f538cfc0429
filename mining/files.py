"""Files by path or URL: reading text whatever its compression, writing so that no half file is ever seen."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import fsspec
from fsspec.core import url_to_fs

from mining.errors import InputError

# What truncated or corrupt compressed data raises, depending on the codec.
_READ_ERRORS = (EOFError, OSError, ValueError, RuntimeError)


def local_path(url: str) -> str | None:
    """The path of a file on this machine's disk, or None for a remote URL."""
    filesystem, path = url_to_fs(url)
    return path if "file" in filesystem.protocol else None


def exists(url: str) -> bool:
    filesystem, path = url_to_fs(url)
    return bool(filesystem.exists(path))


def read_lines(url: str) -> list[str]:
    """Every line of a UTF-8 text file (gz, bz2, xz, zst by extension), without line ends."""
    return list(iterate_lines(url))


def iterate_lines(url: str) -> Iterator[str]:
    """Stream the lines of a UTF-8 text file; a bad byte or a truncated archive names its line."""
    number = 0
    try:
        with fsspec.open(url, "rb", compression="infer") as stream:
            for number, line in enumerate(stream, 1):  # noqa: B007 - the error below names it
                yield line.decode("utf-8").rstrip("\r\n")
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{url} is a folder; a text file is needed") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{url}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line); "
            "convert the file, for example with iconv"
        ) from None
    except _READ_ERRORS as error:
        raise InputError(f"{url}: cannot be read after line {number} ({error})") from None


@contextmanager
def atomic_writer(url: str, *, compression: str | None = None) -> Iterator[IO[bytes]]:
    """A binary stream that appears under `url` only when the block ends without an exception."""
    filesystem, path = url_to_fs(url)
    temporary = f"{path}.{uuid.uuid4().hex[:12]}.tmp"
    parent = filesystem._parent(path)
    try:
        filesystem.makedirs(parent, exist_ok=True)
        with fsspec.open(filesystem.unstrip_protocol(temporary), "wb", compression=compression) as stream:
            yield cast(IO[bytes], stream)
        _replace(filesystem, temporary, path)
    except BaseException as error:
        if filesystem.exists(temporary):
            filesystem.rm_file(temporary)
        if isinstance(error, OSError):
            raise InputError(f"{url}: cannot be written ({error.strerror or error})") from error
        raise


def _replace(filesystem: fsspec.AbstractFileSystem, temporary: str, path: str) -> None:
    if "file" in filesystem.protocol:
        os.replace(temporary, path)  # noqa: PTH105 - plain strings from fsspec
    else:
        filesystem.mv(temporary, path)


@contextmanager
def atomic_text(url: str) -> Iterator[io.TextIOWrapper]:
    """`atomic_writer` for UTF-8 text with Unix line ends, compressed by extension."""
    with atomic_writer(url, compression=fsspec.utils.infer_compression(url)) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=True)
        yield text
        text.flush()
        text.detach()
