"""What a word sounds like: hashed character n-grams of its romanised spelling, shared by all languages and scripts.

Names and loan words are what a new domain brings and a vocabulary has never seen; spelled in Latin letters they look
the same in any script. A word's n-grams are looked up once a batch, however often the batch has the word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from encoder.tokens import TokenBatch

WIDTH = 16  # letters of a token that count
_START, _END = 1, 2  # no letter of a romanised token
_SIZES = (3, 4)


class BatchWords(NamedTuple):
    """The different words of a batch, and which of them each sentence has."""

    tokens: TokenBatch  # the tokens of each different word
    occurrences: TokenBatch  # the different words of each sentence


def on_cpu(batch: TokenBatch) -> bool:
    """Whether compiled kernels can read it."""
    return batch.ids.device.type == "cpu"


def batch_of(features: tuple[np.ndarray, np.ndarray]) -> TokenBatch:
    return TokenBatch(*map(torch.from_numpy, features))


def different_words(batch: TokenBatch, word_starts: Tensor) -> BatchWords:
    """Words as `word_starts` (vocabulary,) has them; a sentence begins with one."""
    ids, offsets = batch
    if on_cpu(batch):
        from encoder.models.hashed_features import words_once

        firsts, ends, which, words_before = map(
            torch.from_numpy, words_once(ids.numpy(), offsets.numpy(), word_starts.numpy())
        )
        bounds = _bounds(ends - firsts)
        return BatchWords(TokenBatch(ids[ragged(firsts, bounds)], bounds), TokenBatch(which, words_before))
    begins = word_starts[ids]
    begins[offsets[:-1][offsets.diff() > 0]] = True
    first = begins.nonzero().squeeze(1)  # the first token of each word
    lengths = first.diff(append=first.new_tensor([len(ids)]))
    _, which = torch.unique(_hashes(ids, begins, first), return_inverse=True)
    some = first.new_empty(int(which.max()) + 1 if len(which) else 0)
    some[which] = torch.arange(len(first), device=ids.device)  # an occurrence of each different word
    bounds = _bounds(lengths[some])
    before = torch.cat([begins.new_zeros(1, dtype=torch.int64), begins.cumsum(0)])
    return BatchWords(TokenBatch(ids[ragged(first[some], bounds)], bounds), TokenBatch(which, before[offsets]))


def ngrams(words: TokenBatch, spellings: Tensor, buckets: int) -> TokenBatch:
    """Hash buckets of the n-grams of each word, its beginning and end marked; `spellings` is (vocabulary, WIDTH)."""
    if on_cpu(words):
        from encoder.models.hashed_features import ngram_buckets

        offsets = words.offsets.numpy()
        marks = _START, _END
        found = ngram_buckets(words.ids.numpy(), offsets[:-1], offsets[1:], spellings.numpy(), marks, _SIZES, buckets)
        return batch_of(found)
    letters, bounds = _letters(words, spellings)
    owner = torch.arange(len(bounds) - 1, device=letters.device).repeat_interleave(bounds.diff())
    keys, owners = [], []
    for size in _SIZES:
        whole = owner[size - 1 :] == owner[: len(owner) - size + 1]
        key = letters.new_full((max(0, len(letters) - size + 1),), size)
        for place in range(size):
            key = (key << 8) + letters[place : len(letters) - size + 1 + place]
        keys.append(key[whole])
        owners.append(owner[: len(owner) - size + 1][whole])
    owner, order = torch.cat(owners).sort(stable=True)
    counts = torch.bincount(owner, minlength=len(bounds) - 1)
    return TokenBatch(bucket(torch.cat(keys)[order], buckets), _bounds(counts))


def _letters(words: TokenBatch, spellings: Tensor) -> tuple[Tensor, Tensor]:
    """The letters of each word between marks, and where each word begins; one without letters has none."""
    spelled = spellings[words.ids]  # (tokens, width)
    counts = (spelled > 0).sum(1)
    before = torch.cat([counts.new_zeros(1), counts.cumsum(0)])[words.offsets]
    lengths = before.diff()
    bounds = _bounds(torch.where(lengths > 0, lengths + 2, 0))
    letters = torch.zeros(int(bounds[-1]), dtype=torch.int64, device=words.ids.device)
    some = lengths > 0
    letters[bounds[:-1][some]], letters[bounds[1:][some] - 1] = _START, _END
    letters[letters == 0] = spelled[spelled > 0].to(torch.int64)
    return letters, bounds


def ragged(starts: Tensor, bounds: Tensor) -> Tensor:
    """Positions `starts[i], starts[i] + 1, ..` for each row `i` of the ragged array with `bounds`."""
    lengths = bounds.diff()
    return torch.arange(int(bounds[-1]), device=bounds.device) + (starts - bounds[:-1]).repeat_interleave(lengths)


def bucket(key: Tensor, buckets: int) -> Tensor:
    """Hash bucket of each int64 key, the same on every device."""
    # The multiplier spreads neighbouring keys, the shift folds high bits in.
    mixed = key * 0x2545F4914F6CDD1D
    return (mixed ^ (mixed >> 31)).remainder(buckets)


def _hashes(ids: Tensor, begins: Tensor, first: Tensor) -> Tensor:
    """One number for each word, by its tokens and their places."""
    word = begins.cumsum(0) - 1
    place = torch.arange(len(ids), device=ids.device) - first[word]
    mixed = (ids + 1) * 0x5851F42D4C957F2D + place * 0x9E3779B97F4A7C1
    mixed = (mixed ^ (mixed >> 29)) * 0x2545F4914F6CDD1D
    return torch.zeros_like(first).index_add_(0, word, mixed ^ (mixed >> 32))


def _bounds(lengths: Tensor) -> Tensor:
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
