"""Paths and URLs, also in several links such as `zip://po/*.po::wheels/django.whl`: a file inside of an archive."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import IO, cast
from urllib.parse import urlsplit

import fsspec
from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from mining.errors import InputError

COMPRESSIONS = ("gz", "bz2", "xz", "zst")
_LINK = "::"
# Anything else is a path, whatever signs are in its name.
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def resolve(url: str) -> tuple[AbstractFileSystem, str]:
    """The filesystem of a path or URL and the path in it; one that is unknown or not installed is one sentence."""
    if not url.isascii():
        _require_utf8(url)
    if not _URL.match(url):
        # fsspec would take `~t.tsv` for the home of a user, and `d::c.tsv` for a file in an archive.
        path = Path(url).expanduser() if re.match(r"~(?:/|$)", url) else Path(url)
        return fsspec.filesystem("file"), str(path.absolute())
    try:
        filesystem, inner = url_to_fs(url)
        if "http" in filesystem.protocol:
            urlsplit(inner)
    except (ValueError, ImportError) as error:
        raise InputError(f"{url}: cannot be opened ({error})") from None
    return filesystem, inner


def _require_utf8(name: str) -> None:
    """Names are kept in manifests and reports, which are UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode("utf-8", "backslashreplace").decode()
        raise InputError(f"{shown}: the name is not valid UTF-8; rename it") from None


def open_url(url: str) -> IO[bytes]:
    """A file's binary stream, with the errors of its filesystem; close it."""
    filesystem, path = resolve(url)
    stream = filesystem.open(path, "rb")
    stream.filesystem = filesystem  # an archive would be closed with the last reference to it
    return cast(IO[bytes], stream)


def local_path(url: str) -> str | None:
    """The path of a file on this machine's disk, or None for a remote URL."""
    filesystem, path = resolve(url)
    return path if "file" in filesystem.protocol else None


def exists(url: str) -> bool:
    filesystem, path = resolve(url)
    return bool(filesystem.exists(path))


def own_name(url: str) -> str:
    """The part of a URL that names the file itself: what is before the archive, and after a cache."""
    first, _, rest = url.partition(_LINK)
    return url if not rest or not _URL.match(url) else first if "://" in first else rest


def split_compression(url: str) -> tuple[str, str]:
    """A name and the extension of its compression with the dot, empty where it has none."""
    stem, dot, last = url.rpartition(".")
    return (stem, dot + last) if last.lower() in COMPRESSIONS else (url, "")


def compression_of(url: str) -> str | None:
    """`gz`, `bz2`, `xz` or `zst`, by extension."""
    return split_compression(own_name(url))[1].lower()[1:] or None


def extension(url: str) -> str:
    """What a name ends with before the extension of a compression, in lower case; empty where there is none."""
    name = split_compression(own_name(url))[0].rpartition("/")[2]
    stem, _, last = name.rpartition(".")
    return last.lower() if stem else ""


def matching(pattern: str) -> list[str]:
    """The files that a path, URL or glob stands for, sorted; an existing file is that file, whatever its name."""
    filesystem, path = resolve(pattern)
    if filesystem.exists(path):
        return [_found_url(filesystem, path, pattern)]
    if not any(sign in path for sign in "*?["):
        return []
    found = sorted(str(name) for name in filesystem.glob(path) if not filesystem.isdir(name))
    return [_found_url(filesystem, name, pattern) for name in found]


def expand(patterns: list[str]) -> list[str]:
    """The files of paths, URLs and globs: in the order given, a glob's files sorted, each file once."""
    urls: dict[str, None] = {}
    for pattern in patterns:
        filesystem, path = resolve(pattern)
        if filesystem.isdir(path):
            example = quote(f"{pattern.rstrip('/')}/*.txt")  # a shell would make several arguments of it
            raise InputError(f"{pattern} is a folder; name its files, for example {example}")
        found = matching(pattern)
        if not found and any(sign in path for sign in "*?["):
            raise InputError(f"{pattern}: no file matches; quote the pattern and check the folder")
        if not found:
            raise InputError(f"{pattern}: no such file")
        urls |= dict.fromkeys(found)
    for url in urls:
        require_file(url)
    return list(urls)


def require_file(url: str) -> None:
    """A sentence for a pipe: what is read in parts, again or by other processes must be a file."""
    path = Path(local_path(url) or "")
    # What /dev/stdin stands for is another file in another process.
    own = path.is_relative_to("/dev") or path.is_relative_to("/proc")
    if own or (path.exists() and not path.is_file() and not path.is_dir()):
        raise InputError(f"{url} is a pipe or a device, not a file; write what it holds to a file and give that")


def _found_url(filesystem: AbstractFileSystem, path: str, pattern: str) -> str:
    """A path that was found under `pattern`, as a URL with all links of the pattern; local paths stay paths."""
    if not _URL.match(pattern):
        return path
    first, link, rest = pattern.partition(_LINK)
    if link and "://" not in first:
        return first + link + str(filesystem.unstrip_protocol(path))
    whole = str(filesystem.unstrip_protocol(path)).removeprefix("file://")
    return whole + link + rest
