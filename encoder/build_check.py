"""A build of the package fails when a file of the default encoder is not the one that its card names.

Only the standard library and setuptools: nothing else is there when a package is built.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from setuptools.command.build_py import build_py

_DEFAULT = Path(__file__).parent / "default"


class CheckedBuild(build_py):
    def run(self) -> None:
        check_files(_DEFAULT)
        super().run()


def check_files(root: Path) -> None:
    """Compare every file that `card.json` lists; without a card there is no default encoder to check."""
    card = root / "card.json"
    if not card.exists():
        return
    for name, digest in json.loads(card.read_text(encoding="utf-8"))["files"].items():
        path = root / name
        if not path.exists() or file_digest(path) != digest:
            raise SystemExit(f"{path} is missing or not the file that {card} names; restore it, or release it anew")


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
