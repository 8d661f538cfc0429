"""Tokenized groups of translations in flat files that are memory-mapped, so a corpus need not fit in memory.

A store is a folder. Sentences: `ids.bin` (int32 tokens of all sentences), `offsets.bin` (int64, one more than there are
sentences), `texts.bin` (int64 hash of the tokens), `languages.bin` (int16). Groups: `groups.bin` (int64 first sentence
of each). Pairs: one file of int64 (left sentence, right sentence, group) for each corpus and language pair. Triples:
one file of int64 (group of the anchor, of the positive, of the hard negative) for each corpus that has any.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Literal, NamedTuple

import numpy as np

from encoder.tokens import Tokens
from mining.errors import InputError

MANIFEST = "manifest.json"
_LANGUAGES = 1 << 15  # languages are numbered in int16
_COLUMNS = {"ids": np.int32, "offsets": np.int64, "texts": np.int64, "languages": np.int16, "groups": np.int64}


class TokenBlock(NamedTuple):
    """Some tokenized groups: sentences in order, and how many belong to each group."""

    tokens: Tokens
    names: tuple[str, ...]
    languages: np.ndarray  # (sentences,) int16, index in `names`
    sizes: np.ndarray  # (groups,) int64
    triples: np.ndarray = np.zeros((0, 3), np.int64)  # (n, 3) numbers of groups in this block


class PairSource(NamedTuple):
    """The pairs of one corpus in one language pair."""

    corpus: int
    langs: tuple[str, str]
    pairs: np.ndarray  # (n, 3) int64: left sentence, right sentence, group; memory-mapped


class Extent(NamedTuple):
    """The groups of one corpus, which follow each other, and its triples."""

    corpus: int
    first: int
    last: int  # exclusive
    triples: np.ndarray  # (n, 3) int64 groups; memory-mapped


def text_hashes(tokens: Tokens) -> np.ndarray:
    """(sentences,) int64: equal for equal token sequences."""
    ids, offsets = tokens
    position = np.arange(len(ids), dtype=np.uint64) - np.repeat(offsets[:-1], tokens.lengths).astype(np.uint64)
    mixed = _mix(_mix(ids.astype(np.uint64) + np.uint64(1)) + position * np.uint64(0x9E3779B97F4A7C15))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])  # wraps, and so do differences
    return _mix(sums[offsets[1:]] - sums[offsets[:-1]]).view(np.int64)


def _mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def group_pairs(sizes: np.ndarray, languages: np.ndarray, which: Literal["english", "all"], english: int) -> np.ndarray:
    """(n, 3) int64 rows (left sentence, right sentence, group) within one block, English or the lower number left.

    `english` leaves out pairs without English in groups that have it.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    group = np.repeat(np.arange(len(sizes)), sizes)
    row = np.arange(starts[-1])
    later = starts[1:][group] - row - 1  # members of the group after this one
    left = np.repeat(row, later)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(later) - later, later)
    is_english = languages == english
    if which == "english" and len(sizes):
        has_english = np.bincount(group, is_english, len(sizes)) > 0
        keep = is_english[left] | is_english[right] | ~has_english[group[left]]
        left, right = left[keep], right[keep]
    rank = np.where(is_english, -1, languages)
    swap = rank[left] > rank[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    return np.stack([left, right, group[left]], axis=1).astype(np.int64)


class StoreWriter:
    """Appends blocks to a store under construction; it becomes readable with `finish`."""

    def __init__(self, folder: Path, which: Literal["english", "all"]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._which = folder, which
        self._languages = ["en"]
        self._stack = ExitStack()
        self._columns = {name: self._create(f"{name}.bin") for name in _COLUMNS}
        self._pairs: dict[tuple[int, int, int], IO[bytes]] = {}
        self._counts: dict[tuple[int, int, int], int] = {}
        self._extents: dict[int, list[int]] = {}  # first group, last group (exclusive), triples
        self._triples: dict[int, IO[bytes]] = {}
        self._tokens = self._sentences = self._groups = 0
        self._columns["offsets"].write(np.zeros(1, np.int64).tobytes())

    def _create(self, name: str) -> IO[bytes]:
        return self._stack.enter_context((self._folder / name).open("wb"))

    def add(self, corpus: int, block: TokenBlock) -> None:
        starts = np.cumsum(block.sizes) - block.sizes
        languages = np.array([self._number(name) for name in block.names], np.int64)[block.languages]
        self._write("ids", block.tokens.ids)
        self._write("offsets", block.tokens.offsets[1:] + self._tokens)
        self._write("texts", text_hashes(block.tokens))
        self._write("languages", languages)
        self._write("groups", starts + self._sentences)
        self._add_pairs(corpus, block.sizes, languages)
        self._add_triples(corpus, block)
        self._tokens += len(block.tokens.ids)
        self._sentences += len(languages)
        self._groups += len(block.sizes)

    def _number(self, language: str) -> int:
        if language not in self._languages:
            self._languages.append(language)
        return self._languages.index(language)

    def _write(self, name: str, values: np.ndarray) -> None:
        self._columns[name].write(values.astype(_COLUMNS[name], copy=False).tobytes())

    def _add_pairs(self, corpus: int, sizes: np.ndarray, languages: np.ndarray) -> None:
        pairs = group_pairs(sizes, languages, self._which, english=0)
        kinds = languages[pairs[:, 0]] * _LANGUAGES + languages[pairs[:, 1]]
        order = np.argsort(kinds, kind="stable")
        kinds, cuts = np.unique(kinds[order], return_index=True)
        shift = np.array([self._sentences, self._sentences, self._groups])
        for kind, part in zip(kinds, np.split(pairs[order], cuts[1:]), strict=False):
            key = (corpus, *divmod(int(kind), _LANGUAGES))
            if key not in self._pairs:
                self._pairs[key] = self._create(self._pair_file(key))
            self._pairs[key].write((part + shift).tobytes())
            self._counts[key] = self._counts.get(key, 0) + len(part)

    def _add_triples(self, corpus: int, block: TokenBlock) -> None:
        extent = self._extents.setdefault(corpus, [self._groups, self._groups, 0])
        if extent[1] != self._groups:
            raise ValueError("blocks of one corpus must follow each other")
        extent[1] += len(block.sizes)
        extent[2] += len(block.triples)
        if len(block.triples):
            if corpus not in self._triples:
                self._triples[corpus] = self._create(f"triples-{corpus}.bin")
            self._triples[corpus].write((block.triples + self._groups).astype(np.int64).tobytes())

    def _pair_file(self, key: tuple[int, int, int]) -> str:
        corpus, left, right = key
        return f"pairs-{corpus}-{self._languages[left]}-{self._languages[right]}.bin"

    def finish(self, counters: dict[str, int]) -> None:
        self._stack.close()
        sources = [
            {"corpus": key[0], "langs": [self._languages[key[1]], self._languages[key[2]]], "pairs": self._counts[key]}
            for key in sorted(self._counts)
        ]
        manifest = {
            "languages": self._languages,
            "tokens": self._tokens,
            "sentences": self._sentences,
            "groups": self._groups,
            "sources": sources,
            "extents": [[corpus, *extent] for corpus, extent in sorted(self._extents.items())],
            "counters": counters,
        }
        (self._folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")

    def close(self) -> None:
        self._stack.close()


class Store:
    """A finished store, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        self.languages: tuple[str, ...] = tuple(manifest["languages"])
        self.counters: dict[str, int] = manifest["counters"]
        self.sentences: int = manifest["sentences"]
        self.ids = self._map("ids", manifest["tokens"])
        self.offsets = self._map("offsets", self.sentences + 1)
        self.texts = self._map("texts", self.sentences)
        self.language = self._map("languages", self.sentences)
        self.groups = self._map("groups", manifest["groups"])
        self.sources = list(self._open_sources(manifest["sources"]))
        self.extents = [self._open_extent(*extent) for extent in manifest["extents"]]

    def _map(self, name: str, count: int) -> np.ndarray:
        return _map_file(self.folder / f"{name}.bin", np.dtype(_COLUMNS[name]), (count,))

    def _open_sources(self, entries: list[dict]) -> Iterator[PairSource]:
        for entry in entries:
            left, right = entry["langs"]
            path = self.folder / f"pairs-{entry['corpus']}-{left}-{right}.bin"
            yield PairSource(entry["corpus"], (left, right), _map_file(path, np.dtype(np.int64), (entry["pairs"], 3)))

    def _open_extent(self, corpus: int, first: int, last: int, triples: int) -> Extent:
        path = self.folder / f"triples-{corpus}.bin"
        rows = _map_file(path, np.dtype(np.int64), (triples, 3)) if triples else np.zeros((0, 3), np.int64)
        return Extent(corpus, first, last, rows)

    def group_bounds(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First sentence of each of `groups`, and the one after its last."""
        after = np.minimum(groups + 1, len(self.groups) - 1)
        return self.groups[groups], np.where(groups + 1 < len(self.groups), self.groups[after], self.sentences)

    @property
    def pairs(self) -> int:
        return sum(len(source.pairs) for source in self.sources)

    def take(self, rows: np.ndarray, most: int) -> Tokens:
        """Sentences `rows`, at most the first `most` tokens of each."""
        starts = self.offsets[rows]
        lengths = np.minimum(self.offsets[rows + 1] - starts, most)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Tokens(self.ids[within], offsets)

    def sample(self, count: int) -> Tokens:
        """At most this many of the sentences, the same ones each time, in their order."""
        rows = np.random.default_rng(0).permutation(self.sentences)[:count]
        return Tokens(self.ids, self.offsets).take(np.sort(rows))


def _map_file(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if not path.exists() or path.stat().st_size != dtype.itemsize * int(np.prod(shape)):
        raise InputError(f"{path}: damaged (its size does not fit {MANIFEST}); delete the folder to make it again")
    if not np.prod(shape):
        return np.zeros(shape, dtype)  # an empty file cannot be mapped
    # A plain view: fancy indexing of np.memmap itself re-wraps every result, which costs more than the reading.
    return np.asarray(np.memmap(path, dtype, "r", shape=shape)).view(np.ndarray)
