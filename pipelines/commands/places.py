"""Where a command reads and writes: no output may be an input, or another output, and all must be writable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from mining.errors import InputError
from mining.files import local_path, require_writable, resolve


def check_places(outputs: Sequence[str], inputs: Iterable[str], *, shards: bool = False) -> None:
    """Find out before anything is read that something would be overwritten or cannot be written.

    Names are compared after symbolic links; a `*` in an output stands for the number of a shard, of a command that
    writes `shards`.
    """
    read = {identity(url): url for url in inputs}
    written: set[str] = set()
    for url in outputs:
        if not shards and "*" in url.rpartition("/")[2]:
            raise InputError(f"{url}: one file is written, so that its name may have no *")
        mine = identity(url)
        if mine in written:
            raise InputError(f"{url}: two outputs have the same name")
        hit = next(
            (given for name, given in read.items() if name == mine or ("*" in url and fnmatch(name, mine))), None
        )
        if hit is not None:
            raise InputError(f"{url}: this output would overwrite the input {hit}")
        written.add(mine)
    for url in outputs:
        require_writable(url.replace("*", "0"))


def identity(url: str) -> str:
    """One name for one file, whichever way it is written."""
    local = local_path(url)
    if local is not None:
        return str(Path(local).resolve())
    filesystem, path = resolve(url)
    return str(filesystem.unstrip_protocol(path))


def work_beside(out: str) -> str:
    """`pairs.tsv.gz` has its work in `pairs.work`, and so has every other output of that name."""
    folder, slash, name = out.rpartition("/")
    return f"{folder}{slash}{PurePosixPath(name.replace('*', 'N')).name.split('.')[0] or 'mine'}.work"


def require_folder(url: str) -> None:
    """Refuse a file where a folder will be written, and a place where none can be."""
    local = local_path(url)
    if local is None:
        return
    nearest = next(path for path in [Path(local), *Path(local).parents] if path.exists())
    if not nearest.is_dir():
        raise InputError(f"{url}: {nearest} is a file; a folder is needed")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{url}: cannot be written (no permission in {nearest})")
