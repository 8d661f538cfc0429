"""Files by path or URL: reading text whatever its compression, writing so that no half file is ever seen."""

from __future__ import annotations

import io
import lzma
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import fsspec
import pyarrow as pa
from fsspec.core import url_to_fs

from mining.errors import InputError

# What truncated or corrupt compressed data raises, depending on the codec.
_READ_ERRORS = (EOFError, OSError, ValueError, RuntimeError, zlib.error, lzma.LZMAError)


def resolve(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The filesystem of a URL and the path in it; one that is unknown or not installed is one sentence."""
    try:
        filesystem, path = url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise InputError(f"{url}: cannot be opened ({error})") from None
    return filesystem, path


def local_path(url: str) -> str | None:
    """The path of a file on this machine's disk, or None for a remote URL."""
    filesystem, path = resolve(url)
    return path if "file" in filesystem.protocol else None


def exists(url: str) -> bool:
    filesystem, path = resolve(url)
    return bool(filesystem.exists(path))


def read_lines(url: str) -> list[str]:
    """Every line of a UTF-8 text file (gz, bz2, xz, zst by extension), without line ends."""
    return list(iterate_lines(url))


def iterate_lines(url: str) -> Iterator[str]:
    """Stream the lines of a UTF-8 text file; a bad byte or a truncated archive names its line."""
    number = 0
    try:
        with open_decompressed(url) as stream:
            for number, line in enumerate(stream, 1):  # noqa: B007 - the error below names it
                yield line.decode("utf-8").rstrip("\r\n")
    except InputError:
        raise
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
def open_decompressed(url: str) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file (gz, bz2, xz, zst by extension)."""
    resolve(url)
    compression = fsspec.utils.infer_compression(url)
    if compression != "zstd":
        with fsspec.open(url, "rb", compression=compression) as stream:
            yield cast(IO[bytes], stream)
        return
    # fsspec's zstd stream has no lines and takes a truncated file for a complete one; Arrow's does not.
    with fsspec.open(url, "rb") as raw, pa.PythonFile(raw, mode="r") as source:
        yield io.BufferedReader(pa.CompressedInputStream(source, "zstd"), 1 << 20)


@contextmanager
def atomic_writer(url: str, *, compression: str | None = None) -> Iterator[IO[bytes]]:
    """A binary stream that appears under `url` only when the block ends without an exception."""
    with atomic_group([url], compression=compression) as streams:
        yield streams[0]


@contextmanager
def atomic_group(urls: list[str], *, compression: str | None = None) -> Iterator[list[IO[bytes]]]:
    """Binary streams that appear under their URLs all together when the block ends well, or not at all."""
    targets = [_Target(url) for url in urls]
    try:
        with ExitStack() as stack:
            streams = [stack.enter_context(target.open(compression)) for target in targets]
            yield streams
        _commit(targets)
    except BaseException as error:
        for target in targets:
            target.discard()
        ours = {None, *(name for target in targets for name in (target.path, target.temporary, target.parent))}
        if isinstance(error, OSError) and error.filename in ours:
            raise InputError(f"{' and '.join(urls)}: cannot be written ({error.strerror or error})") from error
        raise


class _Target:
    """One file in the making: where it is written and where it goes."""

    def __init__(self, url: str) -> None:
        self.filesystem, self.path = resolve(url)
        self.parent = self.filesystem._parent(self.path)
        self.temporary = f"{self.path}.{uuid.uuid4().hex[:12]}.tmp"
        self.moved = False

    @contextmanager
    def open(self, compression: str | None) -> Iterator[IO[bytes]]:
        if self.filesystem.isdir(self.path):
            raise IsADirectoryError(None, "it is a folder", self.path)
        self.filesystem.makedirs(self.parent, exist_ok=True)
        with self.filesystem.open(self.temporary, "wb") as raw:
            if compression is None:
                yield raw
                return
            if compression == "zstd":
                # Closing Arrow's stream is what writes the last frame; fsspec's zstd writer leaves that out.
                with pa.PythonFile(raw, mode="w") as sink, pa.CompressedOutputStream(sink, "zstd") as stream:
                    yield cast(IO[bytes], stream)
                return
            with fsspec.compression.compr[compression](raw, mode="w") as stream:
                yield stream

    def move(self) -> None:
        if "file" in self.filesystem.protocol:
            os.replace(self.temporary, self.path)  # noqa: PTH105 - plain strings from fsspec
        else:
            self.filesystem.mv(self.temporary, self.path)
        self.moved = True

    def discard(self) -> None:
        with suppress(OSError):
            name = self.path if self.moved else self.temporary
            if self.filesystem.exists(name):
                self.filesystem.rm_file(name)


def _commit(targets: list[_Target]) -> None:
    for target in targets:
        target.move()


@contextmanager
def atomic_text(url: str) -> Iterator[io.TextIOWrapper]:
    """`atomic_writer` for UTF-8 text with Unix line ends, compressed by extension."""
    with atomic_texts([url]) as texts:
        yield texts[0]


@contextmanager
def atomic_texts(urls: list[str]) -> Iterator[list[io.TextIOWrapper]]:
    """`atomic_group` for UTF-8 text with Unix line ends, all compressed by the extension of the first."""
    with atomic_group(urls, compression=fsspec.utils.infer_compression(urls[0])) as streams:
        texts: list[io.TextIOWrapper] = [io.TextIOWrapper(stream, encoding="utf-8", newline="\n") for stream in streams]
        try:
            yield texts
        finally:
            for text in texts:
                text.detach()  # flushes, and leaves closing to the group


@contextmanager
def open_binary(url: str) -> Iterator[IO[bytes]]:
    """A binary stream of a file or URL; a missing file is one sentence."""
    resolve(url)
    try:
        with fsspec.open(url, "rb") as stream:
            yield cast(IO[bytes], stream)
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    except (IsADirectoryError, PermissionError) as error:
        raise InputError(f"{url}: cannot be read ({error.strerror})") from None


def require_writable(url: str) -> None:
    """Find out before hours of work, not after, that a file cannot be written there."""
    target = _Target(url)
    parents = [Path(target.parent), *Path(target.parent).parents] if local_path(url) else []
    missing = [parent for parent in parents if not parent.exists()]
    try:
        with target.open(None):
            pass
    except OSError as error:
        raise InputError(f"{url}: cannot be written ({error.strerror or error})") from None
    finally:
        target.discard()
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
