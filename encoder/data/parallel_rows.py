"""What readers of parallel text give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Group(NamedTuple):
    """Sentences that translate each other; a single one in monolingual text."""

    langs: tuple[str, ...]
    texts: tuple[str, ...]
    tokens: tuple[list[int], ...] | None = None  # of the texts, where they are known

    @property
    def sentences(self) -> Iterator[tuple[str, str]]:
        """Language and text of each."""
        return zip(self.langs, self.texts, strict=True)


class Triple(NamedTuple):
    """A sentence, one that follows from it and one that contradicts it, each in some languages."""

    anchor: Group
    positive: Group
    negative: Group


class Malformed(NamedTuple):
    """A line (or unit) that cannot be used, and why."""

    line: int
    reason: str


Row = Group | Triple | Malformed
