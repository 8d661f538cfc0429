"""The packaged language identifier: a linear classifier over hashed character n-grams and words.

`training.py` makes its file. The score of a language is the sum of its weights over a sentence's features, divided by
the root of their number, so that a short sentence gives a flat answer.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mining.language_id.hashed_ngrams import (
    BUCKETS_LOG2,
    MAX_FEATURES,
    MAX_WORDS,
    code_points,
    find_words,
    hash_word,
    letter_kinds,
    word_key,
)

MODEL_FILE = Path(__file__).with_name("model.npz")
_BATCH = 8192  # sentences; bounds the memory for scores
_LANES = 32  # languages added at a time
_WORDS = 4  # added at a time
_REMEMBERED = 1 << 17  # words, by each thread: 26 MB
_LONGEST_REMEMBERED = 40  # letters: the sums of longer words might not fit 16 bits


class Model(NamedTuple):
    """Weights are whole numbers of `scale`; row 0, of the buckets without weights, is zero."""

    languages: tuple[str, ...]
    known: tuple[bool, ...]  # False: only a rival, such as a language of too little text to be judged by it
    rows: NDArray[np.int32]  # (buckets,) row of the weights
    weights: NDArray[np.int8]  # (rows, languages)
    scale: float
    bias: NDArray[np.float32]  # (languages,)
    prior: NDArray[np.float32]  # (languages,) log odds of the language that a corpus is said to be in


def save_model(path: Path, model: Model) -> None:
    np.savez_compressed(
        path,
        languages=np.array(model.languages),
        known=np.array(model.known),
        buckets=np.flatnonzero(model.rows).astype(np.uint32),
        weights=model.weights[1:],
        scale=np.float64(model.scale),
        bias=model.bias,
        prior=model.prior,
    )


@cache
def load_model(path: Path = MODEL_FILE) -> Model:
    with np.load(path) as stored:
        buckets, weights = stored["buckets"], stored["weights"]
        rows = np.zeros(1 << BUCKETS_LOG2, np.int32)
        rows[buckets] = np.arange(1, len(buckets) + 1)
        return Model(
            tuple(stored["languages"].tolist()),
            tuple(stored["known"].tolist()),
            rows,
            np.concatenate([np.zeros((1, weights.shape[1]), np.int8), weights]),
            float(stored["scale"]),
            stored["bias"],
            stored["prior"],
        )


def file_digest(path: Path = MODEL_FILE) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class Scores(NamedTuple):
    """What the model says about sentences."""

    logits: NDArray[np.float32]  # (sentences, languages)
    features: NDArray[np.int32]  # (sentences,) how many features it is based on: 0 for numbers, -1 for unknown scripts


class WordSums(NamedTuple):
    """The sums of weights, and the numbers of features, of the words met last."""

    slots: NDArray[np.int32]  # open addressing: the place of a word in the other arrays, or -1
    keys: NDArray[np.uint64]  # (_REMEMBERED,)
    sums: NDArray[np.int16]  # (_REMEMBERED + 1, languages up to whole lanes), the last row of zeros
    features: NDArray[np.int32]  # (_REMEMBERED,)
    size: NDArray[np.int64]  # (1,) words so far


class _Memory(threading.local):
    """Of each thread its own, of one model."""

    model: Model | None = None

    def of(self, model: Model) -> WordSums:
        if self.model is not model:
            self.model = model
            self.words = WordSums(
                np.full(4 * _REMEMBERED, -1, np.int32),
                np.empty(_REMEMBERED, np.uint64),
                np.zeros((_REMEMBERED + 1, -(-len(model.languages) // _LANES) * _LANES), np.int16),
                np.empty(_REMEMBERED, np.int32),
                np.zeros(1, np.int64),
            )
        return self.words


_memory = _Memory()


def score(model: Model, sentences: Sequence[str]) -> Scores:
    count = len(sentences)
    logits = np.empty((count, len(model.languages)), np.float32)
    features = np.empty(count, np.int32)
    for begin in range(0, count, _BATCH):
        part = slice(begin, begin + _BATCH)
        points = code_points(sentences[part])
        _score(*points, letter_kinds(), model.rows, model.weights, _memory.of(model), logits[part], features[part])
    logits *= (model.scale / np.sqrt(np.maximum(features, 1))).astype(np.float32)[:, None]
    logits += model.bias
    return Scores(logits, features)


@numba.njit(cache=True, nogil=True)
def _score(points, ends, kinds, rows, weights, known, sums, counts):  # type: ignore[no-untyped-def]
    """Sums of weights, and numbers of features, word by word; most words are known already."""
    slots, keys, known_sums, known_features, size = known  # once: to take one from a tuple counts a reference
    words, buckets = np.empty((MAX_WORDS, 2), np.int64), np.empty(MAX_FEATURES, np.int64)
    hashes, places = np.empty(MAX_WORDS, np.uint64), np.empty(MAX_WORDS + _WORDS, np.int32)
    languages = weights.shape[1]
    total, own = np.zeros(known_sums.shape[1], np.int32), np.zeros(languages, np.int32)
    begin = 0
    for i in range(len(ends)):
        found = find_words(points, begin, ends[i], kinds, words)
        begin = ends[i]
        counts[i] = min(found, 0)
        total[:] = 0
        for j in range(found):
            hashes[j] = word_key(points, words[j, 0], words[j, 1])
        unknown = False
        for j in range(found):  # by themselves, so that no word waits for what another fetches
            places[j] = slots[_find_slot(slots, keys, hashes[j])]
            unknown |= places[j] < 0
        if not unknown:
            for j in range(found):
                counts[i] += known_features[places[j]]
            places[max(found, 0) : max(found, 0) + _WORDS] = len(known_sums) - 1
            for j in range(0, found, _WORDS):
                _add(known_sums, places[j : j + _WORDS], total)
            sums[i] = total[:languages]
            continue
        for j in range(found):
            first, last, key = words[j, 0], words[j, 1], hashes[j]
            slot = _find_slot(slots, keys, key)
            word = slots[slot]
            if word >= 0:
                counts[i] += known_features[word]
                total[:languages] += known_sums[word, :languages]
                continue
            hashed = hash_word(points, first, last, buckets, 0)
            features = _add_weights(rows, weights, buckets[:hashed], own)
            counts[i] += features
            total[:languages] += own
            if last - first > _LONGEST_REMEMBERED:
                continue
            if size[0] == len(keys):  # full: begin anew
                slots[:], size[0] = -1, 0
            word = size[0]
            slots[slot], keys[word], known_features[word], size[0] = word, key, features, word + 1
            known_sums[word, :languages] = own
        sums[i] = total[:languages]


@numba.njit(cache=True, nogil=True)
def _find_slot(slots, keys, key):  # type: ignore[no-untyped-def]
    """The place of a key, or the empty one where it belongs: 64 bits do not collide in a vocabulary."""
    slot = np.int64(key >> np.uint64(32)) & (len(slots) - 1)
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@numba.njit(cache=True, nogil=True)
def _add(sums, words, total):  # type: ignore[no-untyped-def]
    """The sums of four words to the total, by whole lanes: what is left over would cost as much as they do."""
    a, b, c, d = np.uint64(words[0]), np.uint64(words[1]), np.uint64(words[2]), np.uint64(words[3])
    for first in range(np.uint64(0), np.uint64(len(total)), np.uint64(_LANES)):
        for k in range(first, first + np.uint64(_LANES)):
            total[k] += np.int32(sums[a, k]) + np.int32(sums[b, k]) + np.int32(sums[c, k]) + np.int32(sums[d, k])


@numba.njit(cache=True, nogil=True)
def _add_weights(rows, weights, buckets, total):  # type: ignore[no-untyped-def]
    """The sum of the weights of some buckets into `total`; returns how many of them have any."""
    total[:] = 0
    count = 0
    for bucket in buckets:
        row = rows[bucket]
        if row:
            count += 1
            for k in range(len(total)):
                total[k] += weights[row, k]
    return count
