"""Packages of Debian and npm: fetched once by their own clients, and read without unpacking them."""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_MOST_AT_ONCE = 100  # names in one call of apt-get


class Member(NamedTuple):
    match: re.Match[str]  # of its path
    data: bytes


def fetch_debian(names: Sequence[str], folder: Path) -> list[Path]:
    """The archives of these packages, in the order of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not list(folder.glob(f"{name}_*.deb"))]
    for first in range(0, len(missing), _MOST_AT_ONCE):
        subprocess.run(["apt-get", "-qq", "download", *missing[first : first + _MOST_AT_ONCE]], cwd=folder, check=True)
    return [next(folder.glob(f"{name}_*.deb")) for name in sorted(names)]


def fetch_npm(name: str, version: str, folder: Path) -> Path:
    """The archive of a package."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, capture_output=True)
    return archive


def debian_names(pattern: str) -> list[str]:
    """All packages whose name fits."""
    found = subprocess.run(["apt-cache", "pkgnames"], check=True, capture_output=True, text=True).stdout.split()
    return sorted(name for name in found if re.fullmatch(pattern, name))


def debian_names_with(path: str, most_bytes: int) -> list[str]:
    """All packages with a file whose path fits, of at most so many bytes. Needs apt-file and its lists."""
    search = subprocess.run(["apt-file", "search", "-l", "-x", path], check=True, capture_output=True, text=True)
    names = sorted(set(search.stdout.split()))
    shown = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", *names], check=True, capture_output=True, text=True
    )
    sizes = {}
    for record in shown.stdout.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.splitlines() if re.match("(Package|Size): ", line))
        if fields:
            sizes[fields["Package"]] = int(fields["Size"])
    return [name for name in names if sizes.get(name, most_bytes + 1) <= most_bytes]


def members(archive: Path, pattern: str) -> Iterator[Member]:
    """The files of a package whose path fits."""
    if archive.suffix == ".deb":
        unpack = ["dpkg-deb", "--fsys-tarfile", str(archive)]
        with (
            subprocess.Popen(unpack, stdout=subprocess.PIPE) as piped,
            tarfile.open(fileobj=piped.stdout, mode="r|") as tar,
        ):
            yield from _members(tar, pattern)
    else:
        with tarfile.open(archive) as tar:
            yield from _members(tar, pattern)


def _members(tar: tarfile.TarFile, pattern: str) -> Iterator[Member]:
    for info in tar:
        if info.isfile() and (match := re.search(pattern, info.name)) and (stream := tar.extractfile(info)):
            yield Member(match, stream.read())
