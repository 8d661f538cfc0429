"""What a store can give to train on, by data shape: where examples are, and the batch that some of them make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch

from encoder.batch import Batch, DataShape
from encoder.data.assembly import Assembled, assemble
from encoder.data.corpora import AssemblySettings
from encoder.data.heldout import HeldOut
from encoder.data.store import Store
from mining.errors import InputError

NO_PAIRS = (
    "the objective learns from translations, and no corpus of `data` has any; give it parallel text, or choose an "
    "objective for single sentences or triples"
)
NO_TRIPLES = "the objective learns from triples, and no corpus of `data` has any; add one with `format: nli`"


class Source(NamedTuple):
    """Examples of one corpus that are drawn together; `name` is shared by sources whose sizes temperature balances."""

    corpus: int
    name: tuple[str, ...]
    rows: np.ndarray  # (n, columns) int64; what the columns are, the class of examples knows


class Examples(Protocol):
    """All examples of one shape."""

    sources: list[Source]
    size: int  # most sentences of an example that are encoded

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        """(n, k) sentences that tell how long an example is, whether it is held out and (the first) of what kin."""
        ...

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        """(n,) bool: which examples are held out, or repeat something that is."""
        ...

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch: ...


def build_examples(
    shape: DataShape,
    store: Store,
    *,
    positives: int = 1,
    least: int = 2,
    languages: Sequence[str] | None = None,
    assembly: AssemblySettings | None = None,
) -> Examples:
    """The examples of `shape` in the store; a corpus that cannot give them is refused."""
    match shape:
        case "pairs":
            return PairExamples(store)
        case "triples":
            return TripleExamples(store, positives)
        case "groups":
            return GroupExamples(store, positives, least, assemble(store, assembly) if assembly else None)
        case "monolingual":
            return SentenceExamples(store, languages)


class PairExamples:
    """Rows are (left sentence, right sentence, group)."""

    size = 2

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sources = [Source(source.corpus, source.langs, source.pairs) for source in store.sources]
        if not store.pairs:
            raise InputError(NO_PAIRS)

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, :2]

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        return held_out.repeated_by(rows[:, :2], rows[:, 2:], self._store.texts)

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch:
        return pair_batch(self._store, rows, max_tokens)


class SentenceExamples:
    """Rows are (sentence,); the objectives that learn from them encode each twice."""

    size = 2

    def __init__(self, store: Store, languages: Sequence[str] | None) -> None:
        self._store = store
        self.sources = []
        ends = np.append(store.groups, store.sentences)
        for extent in store.extents:
            first, last = ends[extent.first], ends[extent.last]
            spoken = store.language[first:last]
            for number in np.unique(spoken):
                name = store.languages[number]
                if languages is None or name in languages:
                    rows = first + np.flatnonzero(spoken == number)
                    self.sources.append(Source(extent.corpus, (name,), rows[:, None]))
        if not self.sources:
            raise InputError(
                f"no sentence of `data` is in {', '.join(languages or ())}; its languages are "
                f"{', '.join(store.languages)}"
            )

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        return held_out.repeated_by(rows, np.zeros((len(rows), 0), np.int64), self._store.texts)

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch:
        groups = np.searchsorted(self._store.groups, rows[:, 0], side="right") - 1
        return make_batch(self._store, rows[:, 0], np.arange(len(rows)), groups, max_tokens)


class TripleExamples:
    """Rows are groups (anchor, positive, hard negative); of each, sentences are drawn when a batch is made."""

    def __init__(self, store: Store, positives: int) -> None:
        self._store, self._positives, self.size = store, positives, 2 + positives
        self.sources = [Source(e.corpus, ("triples",), e.triples) for e in store.extents if len(e.triples)]
        if not self.sources:
            raise InputError(NO_TRIPLES)

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        return self._store.groups[rows]

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        return held_out.repeated_by(self.sentences(rows), rows, self._store.texts)

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch:
        anchors, numbers = draw_members(*self._store.group_bounds(rows[:, 0]), 1, rng)
        positives, positive_of = draw_members(*self._store.group_bounds(rows[:, 1]), self._positives, rng)
        negatives, _ = draw_members(*self._store.group_bounds(rows[:, 2]), 1, rng)
        # A premise may occur in many triples, each time as another group; its first sentence says that it is the same.
        meaning = self._store.texts[self._store.groups[rows]]
        return make_batch(
            self._store,
            np.concatenate([anchors, positives, negatives]),
            np.concatenate([numbers, positive_of, numbers]),
            np.concatenate([meaning[:, 0], meaning[positive_of, 1], meaning[:, 2]]),
            max_tokens,
        )


class GroupExamples:
    """Rows are (group,), numbers of groups in the store or of assembled ones, of `least` sentences or more."""

    def __init__(self, store: Store, positives: int, least: int, assembled: Assembled | None) -> None:
        self._store, self._positives, self._assembled = store, positives, assembled
        self.size = 1 + positives
        self.sources = []
        corpus_of = _corpus_of_groups(store) if assembled is None else assembled.corpus
        first, last = self._bounds(np.arange(len(corpus_of)))
        largest = int((last - first).max(initial=0))
        for corpus in np.unique(corpus_of):
            groups = np.flatnonzero((corpus_of == corpus) & (last - first >= least))
            if len(groups):
                self.sources.append(Source(int(corpus), ("groups",), groups[:, None]))
        if largest < 3:
            raise InputError(
                "the objective learns from groups of three or more translations, and the corpora of `data` have only "
                "pairs; give it N-way text, or join pairs with `data.assemble: {pivots: [en]}`"
            )
        if not self.sources:
            raise InputError(f"the largest group of `data` has {largest} sentences: set objective.least below {least}")

    def _bounds(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._assembled is None:
            return self._store.group_bounds(groups)
        return self._assembled.offsets[groups], self._assembled.offsets[groups + 1]

    def _rows(self, places: np.ndarray) -> np.ndarray:
        return places if self._assembled is None else self._assembled.members[places]

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        first, last = self._bounds(rows[:, 0])
        return self._rows(np.stack([first, first + 1, last - 1], axis=1))

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        first, last = self._bounds(rows[:, 0])
        places, of = spread(first, last)
        repeated = held_out.repeated_by(
            self._rows(places)[:, None], self._group_of(places, rows[of])[:, None], self._store.texts
        )
        return np.bincount(of, repeated, len(rows)) > 0

    def _group_of(self, places: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The group of the store that each sentence came from."""
        if self._assembled is None:
            return rows[:, 0]
        return np.searchsorted(self._store.groups, self._rows(places), side="right") - 1

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch:
        places, of = draw_members(*self._bounds(rows[:, 0]), 1 + self._positives, rng)
        order = np.argsort(~first_of_each(of), kind="stable")  # one anchor of each example, then the rest
        meaning = rows[:, 0] if self._assembled is None else self._assembled.meaning[rows[:, 0]]
        return make_batch(self._store, self._rows(places)[order], of[order], meaning[of[order]], max_tokens)


def _corpus_of_groups(store: Store) -> np.ndarray:
    return np.repeat([e.corpus for e in store.extents], [e.last - e.first for e in store.extents])


def spread(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All places from `first` to `last` (exclusive), and the number of the range that each belongs to."""
    sizes = last - first
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[of], of


def draw_members(
    first: np.ndarray, last: np.ndarray, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Up to `most` places of each range without replacement, in random order, and the number of their range."""
    places, of = spread(first, last)
    order = np.lexsort([rng.random(len(places)), of])
    places, of = places[order], of[order]
    sizes = last - first
    kept = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes) < most
    return places[kept], of[kept]


def first_of_each(of: np.ndarray) -> np.ndarray:
    """(n,) bool: where a sorted array has a value for the first time."""
    return np.concatenate([[True], of[1:] != of[:-1]]) if len(of) else np.zeros(0, bool)


def make_batch(store: Store, sentences: np.ndarray, example: np.ndarray, meaning: np.ndarray, max_tokens: int) -> Batch:
    """A batch of sentences of the store, in this order; see `Batch` for what the order must be."""
    return Batch(
        tokens=store.take(sentences, max_tokens).batch(),
        example=torch.from_numpy(example.astype(np.int64)),
        language=torch.from_numpy(store.language[sentences].astype(np.int64)),
        text=torch.from_numpy(store.texts[sentences]),
        meaning=torch.from_numpy(np.ascontiguousarray(meaning, np.int64)),
        examples=int(example.max(initial=-1)) + 1,
    )


def pair_batch(store: Store, pairs: np.ndarray, max_tokens: int) -> Batch:
    """`pairs` is (n, 3), see `PairSource`; the batch has 2n sentences, left sides first."""
    sentences = np.concatenate([pairs[:, 0], pairs[:, 1]])
    return make_batch(store, sentences, np.tile(np.arange(len(pairs)), 2), np.tile(pairs[:, 2], 2), max_tokens)
