"""Hard negatives from the neighbour graph: near neighbours of a mined sentence that are not its translation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from encoder.normalize import single_spaced
from mining.files import atomic_text
from mining.margin import Margin, margin_scores
from mining.neighbours import Neighbours, read_neighbours
from mining.scoring.tasks import NEAR
from mining.top_k import MISSING
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import column_of
from pipelines.mine.edges import OTHER, Direction


class NegativeLimits(NamedTuple):
    """Above these a neighbour may be a translation that nobody matched."""

    below: float  # margin
    share: float = NEAR  # of the pair's similarity


class Triples(NamedTuple):
    """A sentence, its translation, and a sentence near it that is not."""

    anchor: np.ndarray  # ids
    positive: np.ndarray
    negative: np.ndarray


def negative_path(folder: Path, anchor: str, other: str) -> Path:
    return folder / f"negatives-{anchor}-{other}.tsv"


def hard_negatives(
    graph: Dataset, pairs: pa.Table, direction: Direction, corpus_rows: int, limits: NegativeLimits, margin: Margin
) -> Triples:
    """For each pair the nearest neighbour of its source (`forward`) or target within the limits.

    `corpus_rows` sentences of the other side are of the corpus; what is numbered higher is a probe.
    """
    ends = ("src_id", "tgt_id") if direction == "forward" else ("tgt_id", "src_id")
    own, partner = (pairs[name].to_numpy().astype(np.int64) for name in ends)
    ids, lists = _lists_of(graph, direction, own)
    places = np.searchsorted(ids, own)
    near = Neighbours(lists.ids[places], lists.scores[places])
    present = near.ids != MISSING
    ids, others = _lists_of(graph, OTHER[direction], near.ids[present])
    other_means = np.zeros(near.ids.shape)
    other_means[present] = others.means()[np.searchsorted(ids, near.ids[present])]
    margins = margin_scores(near.scores, near.means()[:, None], other_means, margin)
    allowed = present & (near.ids < corpus_rows) & (near.ids != partner[:, None])
    allowed &= (margins < limits.below) & (near.scores <= limits.share * pairs["cosine"].to_numpy()[:, None])
    nearest = allowed.argmax(axis=1)  # neighbours come nearest first
    found = allowed.any(axis=1)
    return Triples(own[found], partner[found], near.ids[np.arange(len(own)), nearest][found])


def write_triples(path: Path, triples: Triples, anchors: Dataset, others: Dataset, languages: tuple[str, str]) -> None:
    """The triples as NLI, which the trainer reads: the translation is entailed, the negative contradicts."""
    ids = np.concatenate([triples.positive, triples.negative])
    anchor = column_of(anchors, "text", triples.anchor).to_pylist()
    positive, negative = np.split(np.array(column_of(others, "text", ids).to_pylist(), object), 2)
    write_triple_texts(path, zip(anchor, positive, negative, strict=True), languages)


def write_triple_texts(path: Path, triples: Iterable[tuple[str, str, str]], languages: tuple[str, str]) -> int:
    """Anchor, positive and negative of each triple as NLI; returns how many there were."""
    count = 0
    with atomic_text(str(path)) as stream:
        stream.write(f"label\tsentence1_{languages[0]}\tsentence2_{languages[1]}\n")
        for about, right, wrong in map(single_spaced, triples):  # a tab inside of a text would be a column more
            stream.write(f"entailment\t{about}\t{right}\ncontradiction\t{about}\t{wrong}\n")
            count += 1
    return count


def _lists_of(graph: Dataset, direction: Direction, rows: np.ndarray) -> tuple[np.ndarray, Neighbours]:
    """The lists of some rows of one direction, by id; of the graph a shard is held at a time."""
    wanted = np.unique(rows)
    parts = []
    for shard in graph.shards_of(direction):
        ids, lists, _ = read_neighbours(graph.shard_url(shard))
        own = np.isin(ids.astype(np.int64), wanted, assume_unique=True)
        parts.append((ids[own].astype(np.int64), lists.ids[own], lists.scores[own]))
    rows_found, others, scores = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return rows_found, Neighbours(others, scores)
