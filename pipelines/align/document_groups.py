"""Pairs of documents in groups: which documents each worker needs, and how they come there in pieces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mining.vectors import open_vectors
from pipelines.align.documents import Corpus
from pipelines.datasets.contents import check_file
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import read_shard

GROUP = 64  # document pairs that one worker takes at a time


@dataclass(frozen=True)
class SideShard:
    """The sentences of one shard of a side (0 or 1) and their vectors."""

    side: int
    sentences: str
    sentences_checksum: str
    vectors: str
    vectors_checksum: str


class DocumentPiece(NamedTuple):
    """The part of a document that lies in one shard."""

    side: int
    document: int
    first: int  # id of its first sentence
    texts: list[str]
    vectors: np.ndarray  # (sentences, dim) float32; zero where a sentence could not be embedded


class WholeDocument(NamedTuple):
    texts: list[str]
    vectors: np.ndarray


class Extents(NamedTuple):
    """Where the documents of one side lie among the ids of its sentences: runs, several of a document or one."""

    first: np.ndarray  # (runs,) int64, rising
    rows: np.ndarray  # (runs,) int64
    document: np.ndarray  # (runs,) int64

    def owner(self, ids: np.ndarray) -> np.ndarray:
        """The document of each sentence, -1 for sentences of documents that were refused."""
        place = np.searchsorted(self.first, ids, "right") - 1
        return np.where((place >= 0) & (ids < self.first[place] + self.rows[place]), self.document[place], -1)


def extents(corpus: Corpus) -> Extents:
    runs = [(ids.start, len(ids), k) for k, document in enumerate(corpus.documents) for ids in document.ids]
    return Extents(*np.array(sorted(runs), np.int64).T)


def side_shards(side: int, sentences: Dataset, vectors: Dataset) -> list[SideShard]:
    """The shards of one side; each shard of vectors is of the sentence shard of its number."""
    of_index = {shard.index: shard for shard in vectors.shards}
    return [
        SideShard(
            side,
            sentences.place(shard),
            shard.checksum,
            vectors.place(of_index[shard.index]),
            of_index[shard.index].checksum,
        )
        for shard in sentences.shards
        if shard.index in of_index
    ]


def in_groups(pairs: np.ndarray, size: int = GROUP) -> list[np.ndarray]:
    """Pairs (count, 2) cut into groups; neighbours share their source."""
    return [pairs[start : start + size] for start in range(0, len(pairs), size)]


def wanted(groups: Iterable[np.ndarray]) -> tuple[Mapping[int, list[int]], Mapping[int, list[int]]]:
    """For the documents of both sides the numbers of the groups that need them."""
    sides: tuple[dict[int, list[int]], dict[int, list[int]]] = defaultdict(list), defaultdict(list)
    for number, pairs in enumerate(groups):
        for side, needed in enumerate(sides):
            for document in np.unique(pairs[:, side]).tolist():
                needed[document].append(number)
    return dict(sides[0]), dict(sides[1])


def read_pieces(
    shard: SideShard, extent: Extents, needed: Mapping[int, list[int]]
) -> Iterator[tuple[int, DocumentPiece]]:
    """For every group the pieces of its documents that lie in a shard."""
    table = read_shard(shard.sentences, ["id", "text"], shard.sentences_checksum)
    ids = table["id"].to_numpy().astype(np.int64)
    check_file(shard.vectors, shard.vectors_checksum)
    stored = open_vectors(shard.vectors)
    vectors = np.zeros((len(ids), stored.dim), np.float32)
    vectors[np.searchsorted(ids, stored.ids)] = stored.stored
    owners = extent.owner(ids)
    starts = np.flatnonzero(np.diff(owners, prepend=-2))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(ids)], strict=True):
        document = int(owners[start])
        groups = needed.get(document, [])
        if groups:
            texts = table["text"][start:stop].to_pylist()
            piece = DocumentPiece(shard.side, document, int(ids[start]), texts, vectors[start:stop])
            yield from ((group, piece) for group in groups)


def assemble(pieces: Iterable[DocumentPiece]) -> dict[tuple[int, int], WholeDocument]:
    """The documents, by side and number, of all their pieces."""
    parts: dict[tuple[int, int], list[DocumentPiece]] = defaultdict(list)
    for piece in pieces:
        parts[piece.side, piece.document].append(piece)
    whole = {}
    for key, found in parts.items():
        found.sort(key=lambda piece: piece.first)
        texts = [text for piece in found for text in piece.texts]
        whole[key] = WholeDocument(texts, np.concatenate([piece.vectors for piece in found]))
    return whole
