"""Groups of translations out of pairs that have a sentence in common, so that mined pairs can become groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from encoder.data.corpora import AssemblySettings
from encoder.data.store import Store


class Assembled(NamedTuple):
    """Group `i` is sentences `members[offsets[i] : offsets[i + 1]]` of the store."""

    members: np.ndarray  # int64 sentences
    offsets: np.ndarray  # (groups + 1,) int64
    meaning: np.ndarray  # (groups,) int64; the same for parts of what was too large for one group
    corpus: np.ndarray  # (groups,) int64, of the group's first sentence


def assemble(store: Store, settings: AssemblySettings) -> Assembled:
    """Join the groups of the store that have an equal sentence in a pivot language, up to `most` sentences."""
    first, last = store.group_bounds(np.arange(len(store.groups)))
    sizes = last - first
    edges = pivot_edges(store, settings.pivots)
    part = union(sizes, edges, settings.most)
    meaning = union(sizes, edges, int(sizes.sum()) + 1)
    of = np.repeat(np.arange(len(sizes)), sizes)  # group of each sentence
    members = _without_repeats(store, part[of])
    grouped = part[of[members]]
    counts = np.bincount(grouped, minlength=len(sizes))
    keep = counts[grouped] > 1
    members, grouped = members[keep], grouped[keep]
    roots, starts = np.unique(grouped, return_index=True)
    extents = np.array([extent.last for extent in store.extents])
    corpus = np.array([extent.corpus for extent in store.extents])[np.searchsorted(extents, roots, side="right")]
    return Assembled(members, np.append(starts, len(members)), meaning[roots], corpus)


def pivot_edges(store: Store, pivots: tuple[str, ...]) -> np.ndarray:
    """(n, 2) groups that have the same sentence in the same pivot language; a chain through all that have it."""
    edges = []
    for pivot in pivots:
        if pivot not in store.languages:
            continue
        rows = np.flatnonzero(store.language == store.languages.index(pivot))
        order = rows[np.argsort(store.texts[rows], kind="stable")]
        same = store.texts[order[1:]] == store.texts[order[:-1]]
        groups = np.searchsorted(store.groups, order, side="right") - 1
        edges.append(np.stack([groups[:-1][same], groups[1:][same]], axis=1))
    return np.concatenate(edges) if edges else np.zeros((0, 2), np.int64)


def union(sizes: np.ndarray, edges: np.ndarray, most: int) -> np.ndarray:
    """(groups,) the smallest group that each is connected with; an edge that would join too many sentences is left out.

    Two groups that are joined share a sentence, which counts once.
    """
    parent = list(range(len(sizes)))
    size = sizes.tolist()

    def root(group: int) -> int:
        while parent[group] != group:
            parent[group] = parent[parent[group]]
            group = parent[group]
        return group

    for one, other in edges.tolist():
        low, high = sorted((root(one), root(other)))
        if low != high and size[low] + size[high] - 1 <= most:
            parent[high] = low
            size[low] += size[high] - 1
    return np.array([root(group) for group in range(len(parent))], np.int64)


def _without_repeats(store: Store, part: np.ndarray) -> np.ndarray:
    """Sentences sorted by group, an equal one in the same language once."""
    language = store.language.astype(np.int64)
    order = np.lexsort([np.arange(len(part)), language, store.texts, part])
    keys = np.stack([part[order], store.texts[order], language[order]])
    new = np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)])[: len(order)]
    kept = order[new]
    return kept[np.argsort(part[kept], kind="stable")]
