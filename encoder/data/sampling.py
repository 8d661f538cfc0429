"""Which examples a step trains on: a temperature mixture without replacement, resumable from a few numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from encoder.data.examples import Examples, Source
from encoder.data.heldout import HeldOut
from encoder.data.permutation import permute
from encoder.data.store import Store
from encoder.settings import Settings
from encoder.tokens import Tokens
from mining.errors import InputError

_POOL = 65536  # examples drawn at a time: spreads the cost of drawing, and gives length buckets something to sort
_LEXICAL_POOL = 1 << 20  # the more there are to choose from, the more words two sentences share
_EMPTY_POOLS = 20


class BatchSettings(Settings):
    """With `tokens`, a batch closes at that many tokens (longest side x pairs) or at `pairs`, whichever is first.

    For an objective on triples, groups or single sentences, `pairs` counts those.
    """

    pairs: int = Field(2048, ge=2, description="Pairs of one batch, over all processes.")
    tokens: int | None = Field(None, ge=64, description="Padded tokens of one batch, over all processes.")
    per_process: bool = Field(False, description="`pairs` and `tokens` are those of each process.")
    bucket: bool = Field(False, description="Batches of sentences of similar length; `tokens` implies it.")
    homogeneous: bool = Field(False, description="Batches of one corpus and language pair where it can be.")
    hard_negatives: Literal["lexical"] | None = Field(
        None, description="lexical: homogeneous batches of pairs whose first sides share words."
    )
    max_tokens: int = Field(120, ge=1, description="Sentences are cut here.")
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added up for one update.")
    chunk: int = Field(0, ge=0, description="Gradient cache: sentences encoded at a time; 0 encodes all at once.")

    @model_validator(mode="after")
    def _sorted_one_way(self) -> BatchSettings:
        if self.homogeneous and (self.bucket or self.tokens):
            raise ValueError(
                "batches are either homogeneous or of similar length; drop `homogeneous`, or `bucket` and `tokens`"
            )
        if self.hard_negatives and not self.homogeneous:
            raise ValueError("hard negatives are looked for within a corpus and language pair; set `homogeneous`, too")
        return self


def mixture(sources: Sequence[Source], corpus_weights: Sequence[float], temperature: float) -> np.ndarray:
    """Probability of each source: language pairs by size^(1/temperature), corpora within one by size x weight."""
    sizes = np.array([len(source.rows) * corpus_weights[source.corpus] for source in sources], float)
    names = [source.name for source in sources]
    totals = np.array([sum(sizes[j] for j, other in enumerate(names) if other == name) for name in names])
    weights = sizes / np.maximum(totals, 1e-300) * totals ** (1 / temperature)
    return weights / weights.sum()


class SamplerState(NamedTuple):
    """Where the sampler stands: examples drawn from each source before the current pool, and batches used of it."""

    pool: int
    used: int
    drawn: tuple[int, ...]


class Drawn(NamedTuple):
    """One batch of examples, and the state that continues after it."""

    rows: np.ndarray  # (examples, columns) int64, see Source
    after: SamplerState


class Sampler:
    """Endless batches of examples. Each source is run through in a new pseudo-random order again and again."""

    def __init__(
        self,
        store: Store,
        examples: Examples,
        held_out: HeldOut,
        probabilities: np.ndarray,
        settings: BatchSettings,
        seed: int,
        processes: int = 1,
    ) -> None:
        """`probabilities` are those of the sources; batches hold a multiple of `processes` examples."""
        self._store, self.examples, self._held_out, self._probabilities = store, examples, held_out, probabilities
        self._settings, self._seed, self._processes = settings, seed, processes
        self.total = sum(len(source.rows) for source in examples.sources)
        times = processes if settings.per_process else 1
        self._most = min(settings.pairs * times, self.total)
        self._tokens = settings.tokens and settings.tokens * times
        pool = min(_LEXICAL_POOL if settings.hard_negatives else _POOL, self.total)
        self._pool = self._most * max(1, pool // self._most)

    def kept(self) -> int:
        """How many examples are trained on: those that repeat nothing that is held out."""
        parts = (
            source.rows[first : first + _POOL]
            for source in self.examples.sources
            for first in range(0, len(source.rows), _POOL)
        )
        return self.total - sum(int(self.examples.repeats(rows, self._held_out).sum()) for rows in parts)

    def start(self) -> SamplerState:
        return SamplerState(0, 0, (0,) * len(self.examples.sources))

    def batches(self, state: SamplerState) -> Iterator[Drawn]:
        empty = 0
        while empty < _EMPTY_POOLS:
            rows, drawn = self._draw_pool(state)
            batches = self._cut(rows, state.pool)
            for used in range(state.used, len(batches)):
                last = used + 1 == len(batches)
                after = SamplerState(state.pool + 1, 0, drawn) if last else state._replace(used=used + 1)
                yield Drawn(batches[used], after)
            empty = 0 if batches else empty + 1
            state = SamplerState(state.pool + 1, 0, drawn)
        raise InputError(
            f"too few examples for a batch beside the {len(self._held_out.pairs)} held out; give more data, or "
            "set evaluation.pairs to 0"
        )

    def _draw_pool(self, state: SamplerState) -> tuple[np.ndarray, tuple[int, ...]]:
        rng = np.random.default_rng([self._seed, state.pool])
        counts = rng.multinomial(self._pool, self._probabilities)
        parts = [part for n, count in enumerate(counts) if count for part in self._draw(n, state.drawn[n], int(count))]
        if self._settings.hard_negatives:
            parts = [self._by_shared_words(part, rng) for part in parts]
        rows = np.concatenate(parts)
        if not self._settings.homogeneous:
            rows = rows[rng.permutation(len(rows))]
        drawn = tuple(int(before + count) for before, count in zip(state.drawn, counts, strict=True))
        return rows[~self.examples.repeats(rows, self._held_out)], drawn

    def _by_shared_words(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """`rows` with those beside each other whose first sentences share a token, each time by other tokens.

        A sentence goes by its first token in a random order of the vocabulary that prefers rare ones: the more two have
        in common, the likelier they go by the same (weighted MinHash).
        """
        count = np.zeros(0, np.int64)
        for tokens in self._first_sentences(rows):
            earlier, count = count, np.bincount(tokens.ids, minlength=len(count))
            count[: len(earlier)] += earlier
        place = rng.standard_exponential(len(count)) * np.sqrt(count)
        goes_by = [np.minimum.reduceat(place[t.ids], t.offsets[:-1]) for t in self._first_sentences(rows)]
        return rows[np.argsort(np.concatenate(goes_by), kind="stable")]

    def _first_sentences(self, rows: np.ndarray) -> Iterator[Tokens]:
        """The first sentence of each of `rows`, some at a time; none is without tokens."""
        sentences = self.examples.sentences(rows)[:, 0]
        for start in range(0, len(sentences), _POOL):
            yield self._store.take(sentences[start : start + _POOL], self._settings.max_tokens)

    def _draw(self, number: int, first: int, count: int) -> Iterator[np.ndarray]:
        """`count` examples of a source from place `first` on, apart for each time through it."""
        everything = self.examples.sources[number].rows
        size, last = len(everything), first + count
        for epoch in range(first // size, (last - 1) // size + 1):
            key = hash((self._seed, number, epoch))  # hashes of ints and tuples of ints do not vary between runs
            inside = np.arange(max(first, epoch * size), min(last, (epoch + 1) * size)) - epoch * size
            yield everything[permute(inside, size, key)]

    def _cut(self, rows: np.ndarray, pool: int) -> list[np.ndarray]:
        if self._tokens is None and not self._settings.bucket:
            # Equal parts, a little smaller than asked for where held-out ones fell away.
            parts = np.array_split(rows, -(-len(rows) // self._most) or 1)
            batches = [self._even(part) for part in parts if len(part) >= 2 * self._processes]
            return self._shuffled(batches, pool) if self._settings.homogeneous else batches
        width = self._longest_side(rows)
        order = np.argsort(width, kind="stable")
        rows, width = rows[order], width[order]
        cuts = [0]
        while cuts[-1] < len(rows):
            cuts.append(self._batch_end(width, cuts[-1]))
        batches = [self._even(rows[start:stop]) for start, stop in pairwise(cuts)]
        return self._shuffled([batch for batch in batches if len(batch) >= 2 * self._processes], pool)

    def _shuffled(self, batches: list[np.ndarray], pool: int) -> list[np.ndarray]:
        order = np.random.default_rng([self._seed, pool, 1]).permutation(len(batches))
        return [batches[n] for n in order]

    def _longest_side(self, rows: np.ndarray) -> np.ndarray:
        sides = self.examples.sentences(rows)
        lengths = self._store.offsets[sides + 1] - self._store.offsets[sides]
        return np.minimum(lengths.max(axis=1), self._settings.max_tokens)

    def _batch_end(self, width: np.ndarray, start: int) -> int:
        stop = min(start + self._most, len(width))
        if self._tokens is None:
            return stop
        cost = (
            self.examples.size * width[start:stop] * np.arange(1, stop - start + 1)
        )  # sorted, so the last one is the longest
        fitting = int(np.searchsorted(cost, self._tokens, side="right"))
        return min(start + max(2 * self._processes, fitting), len(width))

    def _even(self, rows: np.ndarray) -> np.ndarray:
        """Equally many examples for every process."""
        return rows[: len(rows) // self._processes * self._processes]
