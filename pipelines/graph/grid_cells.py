"""Cells of the grid: the graph of one source and one target shard, in one scratch file until it is merged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from mining.approximate import approximate_graph
from mining.files import atomic_writer
from mining.knn import choose_device, knn_graph
from mining.neighbours import KnnGraph, Neighbours, merge
from mining.paths import exists, open_url
from mining.proposals import is_little
from mining.vectors import Vectors, open_vectors
from pipelines.datasets.contents import check_file
from pipelines.datasets.work import scratch
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_shards import SampleCheck

SAMPLE = 1000  # rows of each side, over all its shards


class VectorShard(NamedTuple):
    """A file of vectors: `number` counts the shards of its side over all its datasets.

    Of `sample` rows the exact neighbours are searched too, to measure what an approximate graph misses.
    """

    number: int
    url: str
    rows: int
    checksum: str
    sample: int


class Cell(NamedTuple):
    """A work item: one source shard against one target shard."""

    folder: str  # of the graph
    exact: bool
    source: VectorShard
    target: VectorShard

    @property
    def url(self) -> str:
        return scratch(self.folder, "cells", f"{self.source.number:05d}-{self.target.number:05d}.npz")


class CellGraph(NamedTuple):
    """What one cell tells of one of its shards: neighbours of all rows, and exact ones of the sampled rows."""

    found: Neighbours
    sample: np.ndarray  # row numbers, none where the graph is exact
    truth: Neighbours


def make_cell(cell: Cell, settings: GraphSettings) -> None:
    """Compute a cell and keep it; a cell that is there already is not computed again."""
    if exists(cell.url):
        return
    source, target = (opened(shard.url, shard.checksum) for shard in (cell.source, cell.target))
    k, memory, threads = settings.k, settings.memory, settings.threads
    if cell.exact:
        device = choose_device(settings.device, little=is_little(source, target))
        graph = knn_graph(source, target, k, memory=memory, device=device, threads=threads)
        samples = (np.empty(0, np.int64), np.empty(0, np.int64))
        truths = (Neighbours.none(0, k), Neighbours.none(0, k))
    else:
        graph = approximate_graph(source, target, k, memory=memory, threads=threads).graph
        samples = (sampled_rows(source, cell.source.sample), sampled_rows(target, cell.target.sample))
        truths = (
            knn_graph(_some(source, samples[0]), target, k, memory=memory, threads=threads).forward,
            knn_graph(source, _some(target, samples[1]), k, memory=memory, threads=threads).backward,
        )
    _write(cell.url, graph, samples, truths)


def sampled_rows(vectors: Vectors, count: int) -> np.ndarray:
    """The same rows of a shard in each of its cells, evenly spread."""
    count = min(count, len(vectors))
    return np.unique(np.linspace(0, len(vectors) - 1, count).astype(np.int64)) if count else np.empty(0, np.int64)


def merge_cells(urls: Iterable[str], side: Literal["forward", "backward"], k: int) -> tuple[Neighbours, SampleCheck]:
    """All cells of one shard in one list, and how many true neighbours of its sample it found; memory is two cells."""
    merged: CellGraph | None = None
    for url in urls:
        part = _read(url, side)
        merged = part if merged is None else _both(merged, part, k)
    assert merged is not None
    sampled = Neighbours(merged.found.ids[merged.sample], merged.found.scores[merged.sample])
    return merged.found, SampleCheck.of(sampled, merged.truth)


def _both(one: CellGraph, other: CellGraph, k: int) -> CellGraph:
    return CellGraph(merge([one.found, other.found], k), one.sample, merge([one.truth, other.truth], k))


def opened(url: str, checksum: str) -> Vectors:
    """A vector file, checked and kept open: the next cell mostly needs one of the same."""
    check_file(url, checksum)  # every time: it is read again only when it has changed
    return _kept_open(url, checksum)


@lru_cache(maxsize=4)
def _kept_open(url: str, checksum: str) -> Vectors:
    return open_vectors(url)


def _some(vectors: Vectors, rows: np.ndarray) -> Vectors:
    return Vectors(vectors.name, vectors.ids[rows], vectors.stored[rows], vectors.inverse_norms[rows], vectors.metadata)


def _write(
    url: str, graph: KnnGraph, samples: tuple[np.ndarray, np.ndarray], truths: tuple[Neighbours, Neighbours]
) -> None:
    arrays: dict[str, np.ndarray] = {}
    for side, found, sample, truth in zip(KnnGraph._fields, graph, samples, truths, strict=True):
        arrays |= {f"{side}_ids": found.ids, f"{side}_scores": found.scores, f"{side}_sample": sample}
        arrays |= {f"{side}_true_ids": truth.ids, f"{side}_true_scores": truth.scores}
    with atomic_writer(url) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _read(url: str, side: str) -> CellGraph:
    with open_url(url) as stream, np.load(stream, allow_pickle=False) as saved:
        return CellGraph(
            Neighbours(saved[f"{side}_ids"], saved[f"{side}_scores"]),
            saved[f"{side}_sample"],
            Neighbours(saved[f"{side}_true_ids"], saved[f"{side}_true_scores"]),
        )
