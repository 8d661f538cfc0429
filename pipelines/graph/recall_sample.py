"""The rows of both sides whose true neighbours are known: what the copies are chosen by, and recall is measured on.

A step that needs them all reads one file a side: the samples of all shards are joined before they are compared, and so
are the neighbours that each shard has for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.codebook import NearCells, distinct_rows, train_codebook
from mining.errors import InputError
from mining.knn import require_fit
from mining.neighbours import Neighbours, merge
from mining.partitioned import nearest_of_rows
from mining.paths import exists
from mining.probes import MIN_PROBES
from mining.row_cells import COPIES, SPACED, RowCells, met_within, spacing
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
WANTED_RECALL = 0.982  # of the k nearest of sampled rows: thousands, so that another sample chooses the same
WANTED_PAIRS = 0.99  # of known translations, where there are enough
WANTED_ERROR = 0.005  # of the mean cosine of the neighbours, which a margin is measured against
TRIED_COPIES = (4, 6, 8, *range(10, 25))  # where none of them is enough, the largest is taken
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
    """The sampled rows of a side with their nearest of the other side, and the cells of these."""

    ids: np.ndarray  # (rows,) of the sampled rows
    vectors: np.ndarray  # (rows, dim) float32
    nearest: Neighbours  # (rows, depth)
    cells: NearCells  # (rows, depth, tried copies), negative where there is no neighbour
    probes: ProbeEnds


class CopiesChoice(NamedTuple):
    """The copies, and what they are expected to reach."""

    copies: int
    pairs: float  # of known translations, or of rows and their nearest where that stands out, those that meet
    error: float  # of the mean cosine of the neighbours: those missed are replaced by the next that are met
    recall: float = 1.0  # of the k nearest, those that are met
    spacing: float = 1.0  # of the cells
    probes: int = 0  # known translations that `pairs` are; none: rows whose nearest stands out, too few to choose by

    @property
    def is_enough(self) -> bool:
        met = self.pairs >= WANTED_PAIRS or not self.probes
        return met and self.recall >= WANTED_RECALL and self.error < WANTED_ERROR


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
        cells = _no_cells(ids.shape, partition)
        found = vectors.unit(np.searchsorted(vectors.ids, ids[there]))
        cells.cells[there], cells.cosines[there] = codebook.near(found, cells.cells.shape[2], pool)
    save_arrays(url, ids=near.ids, scores=near.scores, cells=cells.cells, cosines=cells.cosines)


def _most_copies(partition: Partition) -> int:
    return min(partition.copies or TRIED_COPIES[-1], len(codebook_of(partition)))


def _no_cells(shape: tuple[int, ...], partition: Partition) -> NearCells:
    whole = *shape, _most_copies(partition)
    return NearCells(np.full(whole, -1, np.int32), np.zeros(whole, np.float32))


def join_truth(partition: Partition, side: Direction) -> Truth:
    """The true neighbours of a side's sample, over all shards of the other side, in one file."""
    checked = load_arrays(partition.file("checked", side, 0))
    sampled, depth = len(checked["ids"]), DEPTH * partition.k
    best = Neighbours.none(sampled + len(checked["probe_ids"]), depth)
    cells = _no_cells((sampled, depth), partition)
    for shard in partition.shards(OTHER[side]):
        part = load_arrays(partition.file("truth", OTHER[side], shard.number))
        merged = merge([best, Neighbours(part["ids"], part["scores"])], best.ids.shape[1])
        both_ids = np.concatenate([best.ids, part["ids"]], 1)[:sampled]
        both = (np.concatenate([mine, part[name]], 1) for name, mine in cells._asdict().items())
        where = (both_ids[:, None, :] == merged.ids[:sampled, :, None]).argmax(2)
        best, cells = merged, NearCells(*(np.take_along_axis(column, where[:, :, None], 1) for column in both))
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
    """The fewest copies that let the sampled rows meet enough of their true neighbours in a cell, on both sides.

    No more than there are cells.
    """
    url = partition.work.scratch("choice.npz")
    if not items(partition):
        return CopiesChoice(COPIES, 1.0, 0.0)
    if not exists(url):
        truths = [join_truth(partition, side) for side in DIRECTIONS]
        with thread_pool(partition.threads) as pool:
            save_arrays(url, choice=np.array(_chosen(truths, partition, pool)))
    choice = CopiesChoice._make(load_arrays(url)["choice"].tolist())
    return choice._replace(copies=min(int(choice.copies), len(codebook_of(partition))), probes=int(choice.probes))


def _chosen(truths: list[Truth], partition: Partition, pool: Threads) -> CopiesChoice:
    ends, codebook = [truth.probes for truth in truths], codebook_of(partition)
    truths = [truth for truth in truths if len(truth.ids)]
    none = CopiesChoice(partition.copies or COPIES, 1.0, 0.0)
    if not truths:
        return none
    most = max(_most_copies(partition), min(SPACED, len(codebook)))
    rows = NearCells(
        *map(np.concatenate, zip(*(codebook.near(one.vectors, most, pool) for one in truths), strict=True))
    )
    none = none._replace(spacing=spacing(rows))
    nearest = Neighbours(*(np.concatenate(column) for column in zip(*(truth.nearest for truth in truths), strict=True)))
    if not (nearest.ids != MISSING).any():
        return none
    others = NearCells(*map(np.concatenate, zip(*(truth.cells for truth in truths), strict=True)))
    known = _known_pairs(*ends)
    known_cells = [codebook.near(vectors, most, pool) for vectors in known]
    choice = none
    for copies in [partition.copies] if partition.copies else TRIED_COPIES:
        asked = CellChoice(copies, none.spacing, len(codebook))
        choice = expected(nearest, rows, others, asked, partition.k)
        if len(known[0]) >= MIN_PROBES:
            choice = choice._replace(pairs=share_met(known_cells[0], known_cells[1], asked), probes=len(known[0]))
        if choice.is_enough:
            break
    return choice


def _known_pairs(source: ProbeEnds, target: ProbeEnds) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of both ends of those known translations that a full search finds, from either end."""
    places = {row: place for place, row in enumerate(target.ids.tolist())}
    mates = np.array([places.get(row, -1) for row in source.others.tolist()], np.int64)  # -1 where it has no direction
    found = (mates >= 0) & source.near
    found[mates >= 0] |= target.near[mates[mates >= 0]]
    return source.vectors[found], target.vectors[mates[found]]


class CellChoice(NamedTuple):
    """What decides which cells rows are in."""

    copies: int
    spacing: float
    cells: int

    def of(self, near: NearCells) -> RowCells:
        return RowCells.of(near, *self)


def share_met(source: NearCells, target: NearCells, asked: CellChoice) -> float:
    """Of pairs, by the cells of both ends, those that meet in one."""
    return float(met_within(asked.of(source), asked.of(target)).mean())


def expected(nearest: Neighbours, rows: NearCells, others: NearCells, asked: CellChoice, k: int) -> CopiesChoice:
    """What these copies reach, from the cells of rows (rows, cells) and of their nearest (rows, depth, cells)."""
    exist = nearest.ids != MISSING
    own = asked.of(rows)
    meet = np.stack(
        [
            met_within(own, asked.of(NearCells(*other)))
            for other in zip(*(np.moveaxis(column, 1, 0) for column in others), strict=True)
        ],
        1,
    )
    meet &= exist
    means, kept = (_mean_of_first(nearest.scores, which, k) for which in (exist, meet))
    ratio = np.divide(nearest.scores[:, 0], means, out=np.zeros(len(means)), where=exist[:, 0] & (means > 0))
    stands_out = exist[:, 0] & (ratio >= np.quantile(ratio[exist[:, 0]], 0.75))
    lacking = np.divide(means - kept, np.abs(means), out=np.zeros(len(means)), where=means != 0)
    error = float(np.abs(lacking[exist[:, 0]]).mean())
    recall = float(meet[:, :k].sum() / exist[:, :k].sum())
    return CopiesChoice(asked.copies, float(meet[stands_out, 0].mean()), error, recall, asked.spacing)


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
