"""Which held-out pairs become probe vectors: some of every domain, of as many languages as there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from encoder.data.heldout import shares
from encoder.data.store import Store

_WANTED = 100  # pairs of any two languages without English; 80 are needed
_FEWEST_TOKENS = 4  # of the English side: shorter ones are found by chance


class Chosen(NamedTuple):
    """Sentences of the store; those of one group translate the same English sentence."""

    sentences: np.ndarray  # (n,) int64
    language: np.ndarray  # (n,) int64, as the store numbers them
    group: np.ndarray  # (n,) int32


class _Held(NamedTuple):
    """Held-out pairs with English of one language and domain, in the order in which they are taken."""

    english: np.ndarray
    other: np.ndarray


def choose_probes(store: Store, held: Sequence[np.ndarray], domains: Sequence[str | None], quota: int) -> Chosen:
    """At most `quota` pairs of each language with English, evenly over `domains` (one for each corpus, or none of it).

    `held` are the held-out pairs of each source of the store, see `encoder.data.heldout.held_pairs`.

    For half of them every language takes those English sentences first whose hash is the smallest, so that no
    sentence is preferred for what it says; for the other half those that give pairs to other languages, so that as many
    as possible can be mined without English between them.
    """
    parts, counts = [], []
    for lang in store.languages:
        found = _of_language(store, held, domains, lang)
        parts += found
        counts += shares([len(part.english) for part in found], quota)
    english, other = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    part_of = np.repeat(np.arange(len(parts)), [len(part.english) for part in parts])
    _, group = np.unique(store.texts[english], return_inverse=True)
    rows = np.flatnonzero(choose_shared(group, store.language[other], part_of, np.array(counts, np.int64)))
    _, first, group = np.unique(group[rows], return_index=True, return_inverse=True)
    sentences = np.concatenate([english[rows][first], other[rows]])
    groups = np.concatenate([np.arange(len(first)), group])
    return Chosen(sentences, store.language[sentences].astype(np.int64), groups.astype(np.int32))


def choose_shared(group: np.ndarray, language: np.ndarray, part: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(n,) bool: of each part as many rows as `counts` says, half of them in order.

    The other half is of groups that give the most pairs to languages with fewer than `_WANTED` in common, one group
    after the other, the best first.
    """
    chosen = _place(part) < (counts - counts // 2)[part]
    left = counts // 2
    row = np.full((group.max() + 1, language.max() + 1), -1)  # (groups, languages)
    row[group, language] = np.arange(len(group))
    row = row[(row >= 0).sum(1) > 1]
    taken = (row >= 0) & chosen[row]
    free = (row >= 0) & ~taken & (left[part[row]] > 0)
    while len(row):
        common = taken.T.astype(np.float32) @ taken
        wanted = np.maximum(_WANTED - common, 0)
        np.fill_diagonal(wanted, 0)
        gain = free * ((free | taken).astype(np.float32) @ wanted)  # (groups, languages)
        best = int(gain.sum(1).argmax())
        added = gain[best] > 0
        if not added.any():
            break
        chosen[row[best, added]] = taken[best, added] = True
        free[best, added] = False
        for used in part[row[best, added]]:
            left[used] -= 1
            if not left[used]:
                free &= part[row] != used
    rest = np.flatnonzero(~chosen)  # where other languages need nothing more, in order again
    chosen[rest[_place(part[rest]) < left[part[rest]]]] = True
    return chosen


def _place(part: np.ndarray) -> np.ndarray:
    """The place of each row in its part; parts follow each other."""
    return np.arange(len(part)) - np.searchsorted(part, part)


def held_out_pairs(store: Store, held: Sequence[np.ndarray], domains: Sequence[str | None], lang: str) -> np.ndarray:
    """(n, 2) English sentences and their translations into `lang`, each English text once, in order of its hash."""
    everything = _of_language(store, held, [domain and "any" for domain in domains], lang)
    return np.stack(everything[0], axis=1) if everything else np.zeros((0, 2), np.int64)


def _of_language(store: Store, held: Sequence[np.ndarray], domains: Sequence[str | None], lang: str) -> list[_Held]:
    """The held-out pairs of each domain, in the order of the hashes of their English texts."""
    by_domain: dict[str, list[np.ndarray]] = {}
    for source, pairs in zip(store.sources, held, strict=True):
        domain = domains[source.corpus]
        if domain and set(source.langs) == {"en", lang} and len(pairs):
            english_first = pairs[:, :2] if source.langs[0] == "en" else pairs[:, 1::-1]
            by_domain.setdefault(domain, []).append(english_first)
    return _unrepeated([_in_order(store, np.concatenate(parts)) for _, parts in sorted(by_domain.items())], store)


def _in_order(store: Store, pairs: np.ndarray) -> _Held:
    lengths = store.offsets[pairs[:, 0] + 1] - store.offsets[pairs[:, 0]]
    pairs = pairs[(lengths >= _FEWEST_TOKENS) & (store.texts[pairs[:, 0]] != store.texts[pairs[:, 1]])]
    _, first = np.unique(store.texts[pairs[:, 0]].view(np.uint64), return_index=True)
    return _Held(pairs[first, 0], pairs[first, 1])


def _unrepeated(parts: list[_Held], store: Store) -> list[_Held]:
    """Without English texts that an earlier domain has, too: a group has one sentence of a language."""
    seen = np.zeros(0, np.int64)
    kept = []
    for part in parts:
        texts = store.texts[part.english]
        new = ~np.isin(texts, seen)
        kept.append(_Held(part.english[new], part.other[new]))
        seen = np.concatenate([seen, texts])
    return kept
