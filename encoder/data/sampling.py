"""Which pairs a step trains on: a temperature mixture without replacement, resumable from a few numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from pydantic import Field

from encoder.data.heldout import HeldOut
from encoder.data.permutation import permute
from encoder.data.store import PairSource, Store
from encoder.errors import InputError
from encoder.settings import Settings

_POOL = 65536  # pairs drawn at a time: spreads the cost of drawing, and gives length buckets something to sort
_EMPTY_POOLS = 20


class BatchSettings(Settings):
    """With `tokens`, a batch closes at that many tokens (longest side x pairs) or at `pairs`, whichever is first."""

    pairs: int = Field(2048, ge=2, description="Pairs of one batch, over all processes.")
    tokens: int | None = Field(None, ge=64, description="Padded tokens of one batch, over all processes.")
    bucket: bool = Field(False, description="Batches of sentences of similar length; `tokens` implies it.")
    max_tokens: int = Field(120, ge=1, description="Sentences are cut here.")
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added up for one update.")
    chunk: int = Field(0, ge=0, description="Gradient cache: sentences encoded at a time; 0 encodes all at once.")


def mixture(sources: Sequence[PairSource], corpus_weights: Sequence[float], temperature: float) -> np.ndarray:
    """Probability of each source: language pairs by size^(1/temperature), corpora within one by size x weight."""
    sizes = np.array([len(source.pairs) * corpus_weights[source.corpus] for source in sources], float)
    names = [source.langs for source in sources]
    totals = np.array([sum(sizes[j] for j, other in enumerate(names) if other == name) for name in names])
    weights = sizes / np.maximum(totals, 1e-300) * totals ** (1 / temperature)
    return weights / weights.sum()


class SamplerState(NamedTuple):
    """Where the sampler stands: pairs drawn from each source before the current pool, and batches used of it."""

    pool: int
    used: int
    drawn: tuple[int, ...]


class Drawn(NamedTuple):
    """One batch of pairs, and the state that continues after it."""

    pairs: np.ndarray  # (pairs, 3) int64, see PairSource
    after: SamplerState


class PairSampler:
    """Endless batches of pairs. Each source is run through in a new pseudo-random order again and again."""

    def __init__(
        self,
        store: Store,
        held_out: HeldOut,
        probabilities: np.ndarray,
        settings: BatchSettings,
        seed: int,
        processes: int = 1,
    ) -> None:
        """`probabilities` are those of `store.sources`; batches hold a multiple of `processes` pairs."""
        self._store, self._held_out, self._probabilities = store, held_out, probabilities
        self._settings, self._seed, self._processes = settings, seed, processes
        self._pairs = min(settings.pairs, store.pairs)
        self._pool = self._pairs * max(1, min(_POOL, store.pairs) // self._pairs)

    def start(self) -> SamplerState:
        return SamplerState(0, 0, (0,) * len(self._store.sources))

    def batches(self, state: SamplerState) -> Iterator[Drawn]:
        empty = 0
        while empty < _EMPTY_POOLS:
            pairs, drawn = self._draw_pool(state)
            batches = self._cut(pairs, state.pool)
            for used in range(state.used, len(batches)):
                last = used + 1 == len(batches)
                after = SamplerState(state.pool + 1, 0, drawn) if last else state._replace(used=used + 1)
                yield Drawn(batches[used], after)
            empty = 0 if batches else empty + 1
            state = SamplerState(state.pool + 1, 0, drawn)
        raise InputError(
            f"too few training pairs for a batch beside the {len(self._held_out.pairs)} held out; give more data, "
            "or set evaluation.pairs to 0"
        )

    def _draw_pool(self, state: SamplerState) -> tuple[np.ndarray, tuple[int, ...]]:
        rng = np.random.default_rng([self._seed, state.pool])
        counts = rng.multinomial(self._pool, self._probabilities)
        parts = [self._draw(n, state.drawn[n], int(count)) for n, count in enumerate(counts) if count]
        pairs = np.concatenate(parts)
        pairs = pairs[rng.permutation(len(pairs))]
        drawn = tuple(int(before + count) for before, count in zip(state.drawn, counts, strict=True))
        return pairs[~self._held_out.repeated_by(pairs, self._store.texts)], drawn

    def _draw(self, number: int, first: int, count: int) -> np.ndarray:
        pairs = self._store.sources[number].pairs
        position = np.arange(first, first + count)
        rows = np.empty(count, np.int64)
        for epoch in range(first // len(pairs), (first + count - 1) // len(pairs) + 1):
            inside = position // len(pairs) == epoch
            key = hash((self._seed, number, epoch))  # hashes of ints and tuples of ints do not vary between runs
            rows[inside] = permute(position[inside] % len(pairs), len(pairs), key)
        return pairs[rows]

    def _cut(self, pairs: np.ndarray, pool: int) -> list[np.ndarray]:
        if self._settings.tokens is None and not self._settings.bucket:
            # Equal parts, a little smaller than asked for where held-out pairs fell away.
            parts = np.array_split(pairs, -(-len(pairs) // self._pairs) or 1)
            return [self._even(part) for part in parts if len(part) >= 2 * self._processes]
        width = self._longest_side(pairs)
        order = np.argsort(width, kind="stable")
        pairs, width = pairs[order], width[order]
        cuts = [0]
        while cuts[-1] < len(pairs):
            cuts.append(self._batch_end(width, cuts[-1]))
        batches = [self._even(pairs[start:stop]) for start, stop in pairwise(cuts)]
        full = [batch for batch in batches if len(batch) >= 2 * self._processes]
        shuffled = np.random.default_rng([self._seed, pool, 1]).permutation(len(full))
        return [full[n] for n in shuffled]

    def _longest_side(self, pairs: np.ndarray) -> np.ndarray:
        sides = pairs[:, :2]
        lengths = self._store.offsets[sides + 1] - self._store.offsets[sides]
        return np.minimum(lengths.max(axis=1), self._settings.max_tokens)

    def _batch_end(self, width: np.ndarray, start: int) -> int:
        stop = min(start + self._pairs, len(width))
        if self._settings.tokens is None:
            return stop
        cost = 2 * width[start:stop] * np.arange(1, stop - start + 1)  # sorted, so the last one is the longest
        fitting = int(np.searchsorted(cost, self._settings.tokens, side="right"))
        return min(start + max(2 * self._processes, fitting), len(width))

    def _even(self, pairs: np.ndarray) -> np.ndarray:
        """Equally many pairs for every process."""
        return pairs[: len(pairs) // self._processes * self._processes]
