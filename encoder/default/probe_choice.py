"""Which held-out pairs become probe vectors: some of every domain, of as many languages as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from encoder.data.heldout import shares
from encoder.data.store import Store

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


def choose_probes(store: Store, held: Sequence[np.ndarray], domains: Sequence[str], quota: int) -> Chosen:
    """At most `quota` pairs of each language with English, evenly over `domains` (one for each corpus).

    `held` are the held-out pairs of each source of the store, see `encoder.data.heldout.held_pairs`.

    For half of them every language takes those English sentences first whose hash is the smallest, so that no
    sentence is preferred for what it says; for the other half those that most languages translate, so that any two
    languages have many in common, and are mined without English between them.
    """
    translated = _translated(store, held)
    english, other = [], []
    for lang in store.languages:
        parts = _of_language(store, held, domains, lang)
        counts = shares([len(part.english) for part in parts], quota)
        for part, count in zip(parts, counts, strict=True):
            chosen = _shared_half(translated(part.english), count)
            english.append(part.english[chosen])
            other.append(part.other[chosen])
    left, right = np.concatenate(english), np.concatenate(other)
    _, first, group = np.unique(store.texts[left], return_index=True, return_inverse=True)
    sentences = np.concatenate([left[first], right])
    groups = np.concatenate([np.arange(len(first)), group])
    return Chosen(sentences, store.language[sentences].astype(np.int64), groups.astype(np.int32))


def held_out_pairs(store: Store, held: Sequence[np.ndarray], lang: str) -> np.ndarray:
    """(n, 2) English sentences and their translations into `lang`, each English text once, in order of its hash."""
    domains = [""] * (1 + max(source.corpus for source in store.sources))
    everything = _of_language(store, held, domains, lang)
    return np.stack(everything[0], axis=1) if everything else np.zeros((0, 2), np.int64)


def _of_language(store: Store, held: Sequence[np.ndarray], domains: Sequence[str], lang: str) -> list[_Held]:
    """The held-out pairs of each domain, in the order of the hashes of their English texts."""
    by_domain: dict[str, list[np.ndarray]] = {}
    for source, pairs in zip(store.sources, held, strict=True):
        if set(source.langs) == {"en", lang} and len(pairs):
            english_first = pairs[:, :2] if source.langs[0] == "en" else pairs[:, 1::-1]
            by_domain.setdefault(domains[source.corpus], []).append(english_first)
    return _unrepeated([_in_order(store, np.concatenate(parts)) for _, parts in sorted(by_domain.items())], store)


def _translated(store: Store, held: Sequence[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function that tells into how many languages the text of each English sentence is translated."""
    found = [np.zeros((0, 2), np.int64)]
    for source, pairs in zip(store.sources, held, strict=True):
        if "en" in source.langs and len(pairs):
            at = source.langs.index("en")
            found.append(np.stack([store.texts[pairs[:, at]], store.language[pairs[:, 1 - at]].astype(np.int64)], 1))
    texts, counts = np.unique(np.unique(np.concatenate(found), axis=0)[:, 0], return_counts=True)
    return lambda english: counts[np.searchsorted(texts, store.texts[english])]


def _shared_half(translated: np.ndarray, count: int) -> np.ndarray:
    """The first half of `count` rows, and then those with the most translations among the others."""
    first = count - count // 2
    others = first + np.argsort(-translated[first:], kind="stable")
    return np.concatenate([np.arange(first), others[: count - first]])


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
