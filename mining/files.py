"""Files by path or URL: reading text whatever its compression, writing so that no half file is ever seen."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, cast
from zipfile import BadZipFile

import zstandard
from fsspec.spec import AbstractBufferedFile

from mining.decompression import Decompressed
from mining.encodings import Utf8Check, likely_encoding, require_no_mark
from mining.errors import InputError
from mining.paths import compression_of, local_path, open_url, resolve
from mining.temporary_files import claim, remove_leftovers_beside, temporary_name, unfinished

LONGEST = 64 << 20  # bytes of a line, a message or a page: a small archive may hold far more than fits in memory
# Of the zip file that a URL leads into.
_ARCHIVE_ERRORS = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# Equal content makes equal files: gzip would store the time and the temporary name.
_WRITERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gz": lambda raw: gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0),
    "bz2": lambda raw: bz2.BZ2File(raw, "wb"),
    "xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 - the caller closes it
    "zst": lambda raw: zstandard.ZstdCompressor().stream_writer(raw, closefd=False),
}


def read_lines(url: str) -> list[str]:
    """Every line of a UTF-8 text file (gz, bz2, xz, zst by extension), without line ends."""
    return list(iterate_lines(url))


def iterate_lines(url: str) -> Iterator[str]:
    """Stream the lines of a UTF-8 text file; a bad byte or a truncated archive names its line."""
    for number, line in enumerate(raw_lines(url), 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            encoding = likely_encoding(line)
            looks = f"which looks like {encoding}" if encoding else f"byte {error.start + 1} of the line"
            raise InputError(
                f"{url}, line {number}: not valid UTF-8 ({looks}); convert the file, for example by `iconv "
                f"-f {encoding or 'ENCODING'} -t UTF-8`"
            ) from None


def readable_lines(url: str) -> Iterator[str | None]:
    """`iterate_lines` with None for a line that is not UTF-8; too many of them are an error."""
    check = Utf8Check(url)
    number = 0
    for number, line in enumerate(raw_lines(url), 1):
        text = check.decoded(line, number)
        yield None if text is None else text.rstrip("\r\n")
    check.finish(number)


def raw_lines(url: str) -> Iterator[bytes]:
    """Lines with their ends; the byte-order mark of UTF-8 is left out, and that of another encoding an error."""
    number = 0
    try:
        with open_decompressed(url) as stream:
            for number, line in enumerate(iter(partial(_bounded(stream).readline, LONGEST), b""), 1):
                if number == 1:
                    require_no_mark(line, url)
                    line = line.removeprefix(codecs.BOM_UTF8)
                if len(line) >= LONGEST:
                    raise InputError(f"{url}, line {number}: longer than {LONGEST >> 20} MB; is this text in lines?")
                yield line
    except (OSError, *_ARCHIVE_ERRORS) as error:
        raise InputError(f"{url}: cannot be read after line {number} ({error})") from None


def _bounded(stream: IO[bytes]) -> IO[bytes]:
    """The stream with a `readline` that takes a limit, which those of remote stores have not."""
    return io.BufferedReader(cast(Any, stream), 1 << 18) if isinstance(stream, AbstractBufferedFile) else stream


@contextmanager
def open_decompressed(url: str) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file (gz, bz2, xz, zst by extension); `Damaged` where it is cut off or corrupt."""
    codec = compression_of(url)
    with open_binary(url) as raw:
        yield raw if codec is None else io.BufferedReader(Decompressed(raw, codec), 1 << 18)


def read_whole(url: str) -> bytes:
    """All decompressed bytes of a file that is held in memory, and so must not be too large."""
    with open_decompressed(url) as stream:
        data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise InputError(f"{url}: larger than {LONGEST >> 20} MB when decompressed; split it")
    return data


@contextmanager
def open_binary(url: str) -> Iterator[IO[bytes]]:
    """A binary stream of a file or URL; what cannot be opened is one sentence."""
    try:
        stream = open_url(url)
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{url} is a folder; a file is needed") from None
    except (OSError, *_ARCHIVE_ERRORS) as error:
        raise InputError(f"{url}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    with stream:
        yield stream


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
        if isinstance(error, OSError) and any(target.concerns(error) for target in targets):
            raise InputError(f"{' and '.join(urls)}: cannot be written ({error.strerror or error})") from error
        raise


class _Target:
    """One file in the making: where it is written and where it goes."""

    def __init__(self, url: str) -> None:
        self.filesystem, self.path = resolve(url)
        self.is_local = "file" in self.filesystem.protocol
        self.parent = self.filesystem._parent(self.path)
        self.temporary = temporary_name(self.path)
        self.moved = False
        if self.is_local:
            unfinished.add(Path(self.temporary))

    @contextmanager
    def open(self, compression: str | None) -> Iterator[IO[bytes]]:
        if self.filesystem.isdir(self.path):
            raise IsADirectoryError(None, "it is a folder", self.path)
        self.filesystem.makedirs(self.parent, exist_ok=True)
        with self.filesystem.open(self.temporary, "wb") as raw:
            if self.is_local:
                claim(raw.fileno())
            if compression is None:
                yield raw
            else:
                with _WRITERS[compression](raw) as stream:
                    yield stream

    def concerns(self, error: OSError) -> bool:
        """Whether it is about this file, or a folder above it that is made for it."""
        name = error.filename
        return name is None or name in (self.path, self.temporary) or self.path.startswith(f"{name}/")

    def move(self) -> None:
        if self.is_local:
            os.replace(self.temporary, self.path)  # noqa: PTH105 - plain strings from fsspec
        else:
            self.filesystem.mv(self.temporary, self.path)
        self.moved = True
        unfinished.discard(Path(self.temporary))

    def discard(self) -> None:
        with suppress(OSError):
            name = self.path if self.moved else self.temporary
            if self.filesystem.exists(name):
                self.filesystem.rm_file(name)
            unfinished.discard(Path(self.temporary))


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
    with atomic_group(urls, compression=compression_of(urls[0])) as streams:
        texts: list[io.TextIOWrapper] = [io.TextIOWrapper(stream, encoding="utf-8", newline="\n") for stream in streams]
        try:
            yield texts
        finally:
            for text in texts:
                text.detach()  # flushes, and leaves closing to the group


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path beside `path` for a file or a folder, which gets that name only when the block ends well.

    What is there already stays whole until then; a kill between the two renames of a folder leaves it aside, under
    a hidden name that `restore_folder` knows.
    """
    temporary = path.with_name(temporary_name(f".{path.name}"))
    unfinished.add(temporary)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _share(temporary)
        if path.is_dir():
            _swap_folders(temporary, path)
        else:
            temporary.replace(path)
    except OSError as error:
        if error.filename is not None and path.parent not in Path(error.filename).parents:
            raise
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        unfinished.discard(temporary)


def _share(path: Path) -> None:
    """The mode that any new file gets: safetensors makes files that only their owner can read."""
    mask = os.umask(0)
    os.umask(mask)
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        if file.is_file():
            file.chmod(0o666 & ~mask)


def _swap_folders(temporary: Path, folder: Path) -> None:
    old = temporary.with_suffix(".old")
    try:
        folder.rename(old)
        temporary.rename(folder)
        shutil.rmtree(old)
    except BaseException:  # a signal, too, leaves either the old folder or the new one, and nothing aside
        restore_folder(folder)
        raise


def restore_folder(folder: Path) -> None:
    """Put a folder back in its place that a kill left aside between the two renames of `atomic_path`."""
    aside = list(folder.parent.glob(f".{folder.name}.*.old"))
    if aside and not folder.exists():
        aside.pop().rename(folder)
    for old in aside:
        shutil.rmtree(old)


def require_writable(url: str) -> None:
    """Find out before hours of work, not after, that a file cannot be written there."""
    target = _Target(url)
    if target.is_local:
        remove_leftovers_beside(Path(target.path))
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
