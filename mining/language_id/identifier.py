"""The packaged language identifier: a linear classifier over hashed character n-grams and words.

`training.py` makes its file. The score of a language is the sum of its weights over a sentence's features, divided by
the root of their number, so that a short sentence gives a flat answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mining.language_id.hashed_ngrams import BUCKETS_LOG2, MAX_FEATURES, code_points, hash_features, letter_kinds

MODEL_FILE = Path(__file__).with_name("model.npz")
_BATCH = 8192  # sentences; bounds the memory for scores


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


def score(model: Model, sentences: Sequence[str]) -> Scores:
    count = len(sentences)
    logits = np.empty((count, len(model.languages)), np.float32)
    features = np.empty(count, np.int32)
    for begin in range(0, count, _BATCH):
        part = slice(begin, begin + _BATCH)
        points = code_points(sentences[part])
        _score(*points, letter_kinds(), model.rows, model.weights, logits[part], features[part])
    logits *= (model.scale / np.sqrt(np.maximum(features, 1))).astype(np.float32)[:, None]
    logits += model.bias
    return Scores(logits, features)


@numba.njit(cache=True, nogil=True)
def _score(points, ends, kinds, rows, weights, sums, counts):  # type: ignore[no-untyped-def]
    buckets = np.empty(MAX_FEATURES, np.int64)
    total = np.empty(weights.shape[1], np.int32)
    begin = 0
    for i in range(len(ends)):
        found = hash_features(points, begin, ends[i], kinds, buckets)
        begin = ends[i]
        counts[i] = min(found, 0)
        total[:] = 0
        for j in range(found):
            row = rows[buckets[j]]
            if row:
                counts[i] += 1
                for k in range(len(total)):
                    total[k] += weights[row, k]
        sums[i] = total
