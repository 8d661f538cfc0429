"""The rows of both sides whose true neighbours are known: what the copies are chosen by, and recall is measured on.

A step that needs them all reads one file a side: the samples of all shards are joined before they are compared, and so
are the neighbours that each shard has for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.codebook import distinct_rows, train_codebook
from mining.errors import InputError
from mining.knn import require_fit
from mining.neighbours import Neighbours, merge
from mining.partitioned import COPIES, nearest_of_rows
from mining.paths import exists
from mining.probes import MIN_PROBES
from mining.threads import Threads, thread_pool
from mining.top_k import MISSING
from mining.vectors import from_array
from pipelines.graph.graph_shards import DIRECTIONS, Direction, SampleCheck
from pipelines.graph.partition_plan import (
    CODEBOOK,
    Item,
    Partition,
    codebook_of,
    given_codebook,
    items,
    load_arrays,
    place,
    save_arrays,
)
from pipelines.graph.vector_sides import lots_of, opened

SAMPLE = 1000  # rows of each side, about, whose true neighbours are searched
WANTED_PAIRS = 0.99  # of known translations; without them, of sampled rows whose nearest stands out as those do
WANTED_ERROR = 0.0025  # of the mean cosine of the neighbours, which a margin is measured against
TRIED_COPIES = (4, 5, 6, 7, COPIES, 9, 10, 11, 12, 14, 16)  # where none of them is enough, the largest is taken
DEPTH = 3  # true neighbours that are searched, times k: what takes the place of one that is missed
_CHECKED = ("ids", "vectors", "probe_ids", "probe_vectors")
OTHER: dict[Direction, Direction] = {"forward": "backward", "backward": "forward"}


class ProbeEnds(NamedTuple):
    """The ends of known translations on one side, and whether the other end is among the k nearest of each."""

    ids: np.ndarray  # (ends,)
    vectors: np.ndarray  # (ends, dim) float32
    others: np.ndarray  # (ends,) ids of the other ends
    near: np.ndarray  # (ends,) bool


class Truth(NamedTuple):
    """The sampled rows of a side with their nearest of the other side, and the cells of these, nearest cell first."""

    ids: np.ndarray  # (rows,) of the sampled rows
    vectors: np.ndarray  # (rows, dim) float32
    nearest: Neighbours  # (rows, depth)
    cells: np.ndarray  # (rows, depth, tried copies) int32, negative where there is no neighbour
    probes: ProbeEnds


class CopiesChoice(NamedTuple):
    """The copies, and what they are expected to reach."""

    copies: int
    pairs: float  # of known translations, or of rows and their nearest where that stands out, those that share a cell
    error: float  # of the mean cosine of the neighbours: those missed are replaced by the next that are met
    probes: int = 0  # known translations that this rests on; none: rows whose nearest stands out


def draw_sample(item: Item, partition: Partition) -> None:
    """Rows of a shard for the codebook, and those whose true neighbours are searched.

    Each row draws a lot of its own, so that the sample of a side does not depend on its shards.
    """
    url = partition.file("sample", *place(item))
    if exists(url):
        return
    vectors = opened(item.shard)
    usable = np.flatnonzero(np.isfinite(vectors.inverse_norms))
    side = DIRECTIONS.index(item.side)
    for_codebook, for_recall = (lots_of(vectors.ids[usable], draw) for draw in (side, 2 + side))
    drawn = for_codebook < _training_share(partition)
    if not partition.codebook and len(usable):
        drawn[for_codebook.argmin()] = True  # for the case that no shard has a lower one
    training = usable[drawn]
    checked = usable[for_recall * partition.rows(item.side) < SAMPLE]
    probes = usable[np.isin(vectors.ids[usable], [pair[side] for pair in partition.probes])]
    save_arrays(
        url,
        training=vectors.unit(training),
        lots=for_codebook[drawn],
        ids=vectors.ids[checked],
        vectors=vectors.unit(checked),
        probe_ids=vectors.ids[probes],
        probe_vectors=vectors.unit(probes),
    )


def _training_share(partition: Partition) -> float:
    """Of all rows, those that the codebook is trained on."""
    if partition.codebook:
        return 0.0
    return partition.bounds.training_rows / max(partition.rows("forward") + partition.rows("backward"), 1)


def train(partition: Partition) -> None:
    """The codebook of all samples, or the given one; and the rows of all shards that recall is measured on."""
    url = partition.work.place(CODEBOOK)
    if exists(url) or not items(partition):
        return
    samples = {item: load_arrays(partition.file("sample", *place(item))) for item in items(partition)}
    for side in DIRECTIONS:
        own = [sample for item, sample in samples.items() if item.side == side]
        joined = {name: np.concatenate([part[name] for part in own]) for name in _CHECKED}
        # Copies of one vector have the same neighbours, and thousands that are as near.
        rows = distinct_rows(joined["vectors"])
        joined |= {name: joined[name][rows] for name in ("ids", "vectors")}
        save_arrays(partition.file("checked", side, 0), **joined)
    save_arrays(url, centroids=_centroids(partition, samples), encoder=np.array(partition.encoder))


def _centroids(partition: Partition, samples: dict[Item, dict[str, np.ndarray]]) -> np.ndarray:
    if partition.codebook is not None:
        return given_codebook(partition.codebook, partition.encoder, partition.dim)
    sample, lots = (np.concatenate([part[name] for part in samples.values()]) for name in ("training", "lots"))
    if not len(sample):
        raise InputError(f"{partition.work.url}: no vector of either side has a direction; all are zeros")
    sample = sample[lots < max(_training_share(partition), np.nextafter(lots.min(), 1))]
    with thread_pool(partition.threads) as pool:
        return train_codebook(sample, partition.cells, pool).centroids


def find_truth(item: Item, partition: Partition) -> None:
    """The nearest in this shard of the sampled rows of the other side."""
    url = partition.file("truth", *place(item))
    if exists(url):
        return
    checked = load_arrays(partition.file("checked", OTHER[item.side], 0))
    vectors, sampled = opened(item.shard), len(checked["ids"])
    sample = from_array(np.concatenate([checked["vectors"], checked["probe_vectors"]]), "sample")
    require_fit(sample, vectors, partition.k)
    codebook = codebook_of(partition)
    with thread_pool(partition.threads) as pool:
        near = nearest_of_rows(sample, vectors, DEPTH * partition.k, pool)
        ids = near.ids[:sampled]
        there = ids != MISSING
        cells = np.full((*ids.shape, min(_most_copies(partition), len(codebook))), -1, np.int32)
        found = vectors.unit(np.searchsorted(vectors.ids, ids[there]))
        cells[there] = codebook.nearest(found, cells.shape[2], pool)
    save_arrays(url, ids=near.ids, scores=near.scores, cells=cells)


def _most_copies(partition: Partition) -> int:
    return partition.copies or TRIED_COPIES[-1]


def join_truth(partition: Partition, side: Direction) -> Truth:
    """The true neighbours of a side's sample, over all shards of the other side, in one file."""
    checked = load_arrays(partition.file("checked", side, 0))
    sampled, depth = len(checked["ids"]), DEPTH * partition.k
    best = Neighbours.none(sampled + len(checked["probe_ids"]), depth)
    cells = np.full((sampled, depth, min(_most_copies(partition), len(codebook_of(partition)))), -1, np.int32)
    for shard in partition.shards(OTHER[side]):
        part = load_arrays(partition.file("truth", OTHER[side], shard.number))
        merged = merge([best, Neighbours(part["ids"], part["scores"])], best.ids.shape[1])
        both_ids = np.concatenate([best.ids, part["ids"]], 1)[:sampled]
        both = np.concatenate([cells, part["cells"]], 1)
        where = (both_ids[:, None, :] == merged.ids[:sampled, :, None]).argmax(2)
        best, cells = merged, np.take_along_axis(both, where[:, :, None], 1)
    first = [np.ascontiguousarray(column[:sampled, : partition.k]) for column in best]
    probes = _ends(checked, best.ids[sampled:, : partition.k], partition, side)
    known = {"probes": probes.ids[probes.near], "others": probes.others[probes.near]}
    save_arrays(partition.file("nearest", side, 0), rows=checked["ids"], ids=first[0], scores=first[1], **known)
    nearest = Neighbours(best.ids[:sampled], best.scores[:sampled])
    return Truth(checked["ids"], checked["vectors"], nearest, cells, probes)


def _ends(checked: dict[str, np.ndarray], nearest: np.ndarray, partition: Partition, side: Direction) -> ProbeEnds:
    """The probes of a side, whose k nearest are known (ends, k)."""
    own = DIRECTIONS.index(side)
    mates = {pair[own]: pair[1 - own] for pair in partition.probes}
    ids = checked["probe_ids"]
    others = np.array([mates[row] for row in ids.tolist()], np.int64)
    return ProbeEnds(ids, checked["probe_vectors"], others, (nearest == others[:, None]).any(1))


def choose_copies(partition: Partition) -> CopiesChoice:
    """The fewest copies that let the sampled rows meet their true neighbours in a cell, on both sides."""
    url = partition.work.scratch("choice.npz")
    if not items(partition):
        return CopiesChoice(COPIES, 1.0, 0.0)
    if not exists(url):
        truths = [join_truth(partition, side) for side in DIRECTIONS]
        with thread_pool(partition.threads) as pool:
            save_arrays(url, choice=np.array(_chosen(truths, partition, pool)))
    copies, pairs, error, probes = load_arrays(url)["choice"].tolist()
    return CopiesChoice(int(copies), pairs, error, int(probes))


def _chosen(truths: list[Truth], partition: Partition, pool: Threads) -> CopiesChoice:
    ends, most = [truth.probes for truth in truths], _most_copies(partition)
    truths = [truth for truth in truths if len(truth.ids)]
    if not truths:
        return CopiesChoice(partition.copies or COPIES, 1.0, 0.0)
    nearest = Neighbours(*(np.concatenate(column) for column in zip(*(truth.nearest for truth in truths), strict=True)))
    if not (nearest.ids != MISSING).any():
        return CopiesChoice(partition.copies or COPIES, 1.0, 0.0)
    codebook = codebook_of(partition)
    rows = np.concatenate([codebook.nearest(truth.vectors, most, pool) for truth in truths])
    others = np.concatenate([truth.cells for truth in truths])
    known = _known_pairs(*ends)
    known_cells = [codebook.nearest(vectors, most, pool) for vectors in known]
    choice = CopiesChoice(most, 1.0, 0.0)
    for copies in [partition.copies] if partition.copies else TRIED_COPIES:
        choice = expected(nearest, rows, others, copies, partition.k)
        if len(known[0]) >= MIN_PROBES:
            choice = choice._replace(pairs=share_met(known_cells[0], known_cells[1], copies), probes=len(known[0]))
        if choice.pairs >= WANTED_PAIRS and choice.error < WANTED_ERROR:
            break
    return choice


def _known_pairs(source: ProbeEnds, target: ProbeEnds) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of both ends of those known translations that a full search finds, from either end."""
    places = {row: place for place, row in enumerate(target.ids.tolist())}
    mates = np.array([places.get(row, -1) for row in source.others.tolist()], np.int64)  # -1 where it has no direction
    found = (mates >= 0) & source.near
    found[mates >= 0] |= target.near[mates[mates >= 0]]
    return source.vectors[found], target.vectors[mates[found]]


def share_met(source: np.ndarray, target: np.ndarray, copies: int) -> float:
    """Of pairs, by the cells of both ends (pairs, cells), those that share one of so many."""
    return float((source[:, :copies, None] == target[:, None, :copies]).any((1, 2)).mean())


def expected(nearest: Neighbours, rows: np.ndarray, others: np.ndarray, copies: int, k: int) -> CopiesChoice:
    """What this many copies reach, from the cells of rows (rows, cells) and of their nearest (rows, depth, cells)."""
    exist = nearest.ids != MISSING
    meet = (rows[:, None, :copies, None] == others[:, :, None, :copies]).any((2, 3)) & exist
    means, kept = (_mean_of_first(nearest.scores, which, k) for which in (exist, meet))
    ratio = np.divide(nearest.scores[:, 0], means, out=np.zeros(len(means)), where=exist[:, 0] & (means > 0))
    stands_out = exist[:, 0] & (ratio >= np.quantile(ratio[exist[:, 0]], 0.75))
    lacking = np.divide(means - kept, np.abs(means), out=np.zeros(len(means)), where=means != 0)
    return CopiesChoice(copies, float(meet[stands_out, 0].mean()), float(np.abs(lacking[exist[:, 0]]).mean()))


def _mean_of_first(scores: np.ndarray, which: np.ndarray, k: int) -> np.ndarray:
    """The mean of the first k scores of each row that are marked; 0 where none is."""
    first = which & (which.cumsum(1) <= k)
    return np.where(first, scores, 0.0).sum(1) / np.maximum(first.sum(1), 1)


def check_sample(item: Item, found: Neighbours, partition: Partition) -> SampleCheck:
    """What a shard's neighbours have of the true ones of its sampled rows."""
    truth = load_arrays(partition.file("nearest", item.side, 0))
    ids = opened(item.shard).ids
    own = np.isin(truth["rows"], ids)
    rows = np.searchsorted(ids, truth["rows"][own])
    check = SampleCheck.of(
        Neighbours(found.ids[rows], found.scores[rows]), Neighbours(truth["ids"][own], truth["scores"][own])
    )
    known = np.isin(truth["probes"], ids)
    near = found.ids[np.searchsorted(ids, truth["probes"][known])] == truth["others"][known, None]
    return check.model_copy(update={"probes": int(known.sum()), "probes_found": int(near.any(1).sum())})
