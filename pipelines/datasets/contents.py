"""The content of files, by a hash of their bytes: what decides whether an input has changed or a shard is damaged."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import IO

import xxhash

from mining.errors import InputError
from mining.paths import exists, resolve

_CHUNK = 1 << 22
# What stores keep of a file's content, and, of those that keep nothing, of its last change.
_TAGS = ("md5Hash", "crc32c", "ETag", "etag", "LastModified", "mtime")


def content_hash(url: str) -> str:
    """A hash of a file's bytes; of one in a remote store, of the tag that the store keeps, so that nothing is fetched.

    A local file is read once in a process unless it changes; the time of its last change of any kind is among the
    signs of that, which a program that sets dates back cannot set.
    """
    filesystem, path = resolve(url)
    try:
        info = filesystem.info(path)
        if info.get("type") == "directory":
            raise InputError(f"{url} is a folder; a file is needed")
        if info.get("type") != "file":
            raise InputError(f"{url}: not a regular file; write what it gives to a file first")
        if "file" in filesystem.protocol:
            found = os.stat(path)  # noqa: PTH116 - a plain string from fsspec
            return _local_hash(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        tag = next((str(info[key]) for key in _TAGS if info.get(key)), None)
        if tag is not None:
            return xxhash.xxh3_64_hexdigest(f"{info['size']} {tag}".encode())
        with filesystem.open(path, "rb") as stream:
            return _hash(stream)
    except FileNotFoundError:
        raise InputError(f"{url}: no such file") from None
    except PermissionError as error:
        raise InputError(f"{url}: cannot be read ({error.strerror})") from None


def check_file(url: str, checksum: str) -> None:
    """Refuse a file of a dataset that is not the one that was written; an empty checksum fits any."""
    if not exists(url):
        raise InputError(f"{url} is missing; delete the folder that it was in and run the command that makes it again")
    if checksum and content_hash(url) != checksum:
        raise InputError(
            f"{url} is damaged, or was edited or replaced: it is not the file that its dataset was made with; "
            "delete the folder that it is in and run the command that makes it again"
        )


@lru_cache(maxsize=1 << 16)
def _local_hash(path: str, size: int, modified: int, changed: int, inode: int) -> str:
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - a plain string from fsspec
        return _hash(stream)


def _hash(stream: IO[bytes]) -> str:
    digest = xxhash.xxh3_64()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
