"""Alignment files: `[0, 1]:[0]:cost` (Vecalign, Bertalign, Text+Berg), ladders of hunalign, and XCES links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from mining.errors import InputError
from mining.files import iterate_lines

_BEAD = re.compile(r"\[([\d,\s]*)\]:\[([\d,\s]*)\](?::(\S+))?")
_LADDER = re.compile(r"(\d+)\s+(\d+)(?:\s+\S+)?")

Bead = tuple[tuple[int, ...], tuple[int, ...]]


class Link(NamedTuple):
    """A bead with what a file says of it."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    cost: float | None


def read_links(url: str) -> list[Link]:
    """The beads of an alignment file, sentences counted from 0; a ladder of hunalign is known by its first line."""
    lines = [(number, line.strip()) for number, line in enumerate(iterate_lines(url), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if lines and _LADDER.fullmatch(lines[0][1]):
        return list(_ladder(url, lines))
    return [_link(url, number, line) for number, line in lines]


def _link(url: str, number: int, line: str) -> Link:
    found = _BEAD.fullmatch(line)
    try:
        if found is None:
            raise ValueError
        source, target = (tuple(int(place) for place in side.split(",") if place.strip()) for side in found.group(1, 2))
        cost = None if found[3] is None else float(found[3])
    except ValueError:
        raise InputError(f"{url}, line {number}: {line[:60]!r} is no bead; it should look like [0, 1]:[0]") from None
    return Link(source, target, cost)


def _ladder(url: str, lines: list[tuple[int, str]]) -> Iterator[Link]:
    """Between two rungs lies a bead."""
    before: tuple[int, int] | None = None
    for number, line in lines:
        found = _LADDER.fullmatch(line)
        if found is None:
            raise InputError(f"{url}, line {number}: {line[:60]!r} is no rung of a ladder, such as 3 4 0.5")
        here = int(found[1]), int(found[2])
        if before is not None:
            if here < before or here[1] < before[1]:
                raise InputError(f"{url}, line {number}: the ladder goes back from {before} to {here}")
            yield Link(tuple(range(before[0], here[0])), tuple(range(before[1], here[1])), None)
        before = here


def beads_of(places: np.ndarray) -> list[Bead]:
    """The beads of an `Alignment` as tuples of sentence numbers."""
    return [(tuple(range(a, b)), tuple(range(c, d))) for a, b, c, d in places.tolist()]


def write_links(stream: IO[str], beads: Iterable[Bead], costs: np.ndarray) -> None:
    """Vecalign's format; a bead with an empty side has the cost 0, as there."""
    for (source, target), cost in zip(beads, np.nan_to_num(costs).tolist(), strict=True):
        stream.write(f"{list(source)}:{list(target)}:{cost:.6f}\n")


class LinkGroup(NamedTuple):
    """The beads of one document pair for XCES."""

    source: str
    target: str
    beads: list[Bead]
    certainty: np.ndarray


def write_xces(stream: IO[str], groups: Iterable[LinkGroup]) -> int:
    """Links as OPUS has them: a `linkGrp` for each document pair, sentence ids counted from 1."""
    stream.write(
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">\n'
        '<cesAlign version="1.0">\n'
    )
    count = 0
    for group in groups:
        documents = f"fromDoc={quoteattr(group.source)} toDoc={quoteattr(group.target)}"
        stream.write(f'<linkGrp targType="s" {documents}>\n')
        for (source, target), certainty in zip(group.beads, group.certainty.tolist(), strict=True):
            count += 1
            ids = ";".join(" ".join(str(place + 1) for place in side) for side in (source, target))
            stream.write(f'<link id="SL{count}" xtargets="{ids}" certainty="{certainty:.4f}"/>\n')
        stream.write("</linkGrp>\n")
    stream.write("</cesAlign>\n")
    return count
