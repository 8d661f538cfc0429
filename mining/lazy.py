"""Public names of a package that are imported when they are first used: torch and Beam take seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


class _Without:
    """A finder of modules that does not find some of them."""

    def __init__(self, hidden: tuple[str, ...]) -> None:
        self.hidden = hidden

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self.hidden:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Libraries that could use others import them, a second of CPU each, and go on where these are not there."""
    finder = _Without(modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
