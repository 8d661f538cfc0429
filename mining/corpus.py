"""The text behind the vectors: scanned once for what to mine, read again for the lines that were paired."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from mining.errors import InputError
from mining.files import iterate_lines
from mining.paths import require_file


@dataclass(frozen=True)
class Lines:
    """What is remembered of a text: nine bytes a line, and how long all of it is."""

    name: str
    hashes: np.ndarray  # (lines,) uint64
    blank: np.ndarray  # (lines,) bool
    size: int  # bytes of UTF-8

    @property
    def count(self) -> int:
        return len(self.hashes)


class Repeats(NamedTuple):
    """Lines that stand more than once: the first stands for all."""

    first: np.ndarray  # (lines,) the first line with the same text
    again: np.ndarray  # (lines,) bool: not the first

    def positions(self, rows: np.ndarray) -> list[list[int]]:
        """For each first line, the line numbers (from 1) of its repetitions."""
        later = np.flatnonzero(self.again)
        owners = self.first[later]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], rows)
        stops = np.searchsorted(owners[order], rows, side="right")
        numbers = later[order] + 1
        return [numbers[a:b].tolist() for a, b in zip(starts, stops, strict=True)]


def scan(url: str) -> Lines:
    """Hash every line; an empty text is an error, and so is a pipe, which could not be read again."""
    require_file(url)
    hashes, blank = array("Q"), bytearray()  # lists of Python's integers would take five times as much
    size = 0
    for line in iterate_lines(url):
        size += len(line.encode("utf-8"))
        hashes.append(_hash(line))
        blank.append(not line.strip())
    if not hashes:
        raise InputError(f"{url}: the text is empty")
    return Lines(url, np.frombuffer(hashes, np.uint64), np.frombuffer(blank, bool), size)


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8"))


def hash_texts(texts: Iterable[str]) -> np.ndarray:
    return np.array([_hash(text) for text in texts], np.uint64)


def find_repeats(hashes: np.ndarray) -> Repeats:
    _, first_index, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    first = first_index[inverse]
    return Repeats(first, first != np.arange(len(hashes)))


def texts_at(url: str, rows: np.ndarray) -> pa.Array:
    """The texts of the given rows, in their order; one pass over the file."""
    wanted, places = np.unique(rows, return_inverse=True)
    found: list[str] = []
    position = 0
    for number, line in enumerate(iterate_lines(url)):
        if position == len(wanted):
            break
        if number == wanted[position]:
            found.append(line)
            position += 1
    return pa.array(found, pa.string()).take(pa.array(places))


def read_id_pairs(url: str, source: Lines, target: Lines) -> np.ndarray:
    """Rows (pairs, 2) of a two-column file: line numbers from 1 on both sides, or the two sentences themselves."""
    left, right = read_columns(url)
    if all(field.isdecimal() for field in (*left, *right)):
        farthest = np.iinfo(np.int64).max  # a longer number is no line either
        rows = np.array([[min(int(field), farthest) for field in side] for side in (left, right)], np.int64).T - 1
        for column, lines in enumerate((source, target)):
            outside = np.flatnonzero((rows[:, column] < 0) | (rows[:, column] >= lines.count))
            if len(outside):
                at = int(outside[0])
                raise InputError(
                    f"{url}, line {at + 1}: {lines.name} has no line {rows[at, column] + 1}, only {lines.count:,} lines"
                )
        return rows
    return np.stack([_find(url, source, left), _find(url, target, right)], axis=1)


def read_columns(url: str) -> tuple[list[str], list[str]]:
    """The two columns of a tab-separated file."""
    table = [_two_columns(url, number, line) for number, line in enumerate(iterate_lines(url), 1)]
    if not table:
        raise InputError(f"{url}: no pairs in it")
    return [left for left, _ in table], [right for _, right in table]


def _two_columns(url: str, number: int, line: str) -> tuple[str, str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise InputError(f"{url}, line {number}: {len(fields)} columns where two, separated by a tab, are needed")
    return fields[0], fields[1]


def _find(url: str, lines: Lines, texts: list[str]) -> np.ndarray:
    order = np.argsort(lines.hashes, kind="stable")
    wanted = hash_texts(texts)
    places = np.searchsorted(lines.hashes[order], wanted)
    rows = order[np.minimum(places, lines.count - 1)]
    missing = np.flatnonzero(lines.hashes[rows] != wanted)
    if len(missing):
        raise InputError(f"{url}, line {missing[0] + 1}: this sentence is not in {lines.name}")
    return rows
