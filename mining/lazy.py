"""Public names of a package that are imported when they are first used: torch and Beam take seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: `places` says for each name `module`, or `module:name` where it has another there.

    `__version__` is that of the installed distribution, so that only pyproject.toml says it.
    """

    def attribute(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("twinlode")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = places[name].partition(":")
        return getattr(import_module(module), there or name)

    return attribute
