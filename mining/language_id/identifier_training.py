"""Training of the language identifier: multinomial logistic regression on hashed features, then made small.

Stochastic gradient descent with AdaGrad (Duchi et al. 2011), one step size a bucket; the buckets that matter most
keep their weights, as whole numbers of one byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mining.language_id.hashed_ngrams import BUCKETS_LOG2, MAX_FEATURES, code_points, hash_features, letter_kinds
from mining.language_id.identifier import Model, score
from mining.language_id.sentence_language import log_odds


class LabelledSentences(NamedTuple):
    """Sentences and the numbers of their languages."""

    sentences: list[str]
    labels: NDArray[np.int64]


class IdentifierWeights(NamedTuple):
    """A trained classifier in full size."""

    weights: NDArray[np.float32]  # (buckets, languages)
    bias: NDArray[np.float32]  # (languages,)
    squares: NDArray[np.float32]  # (buckets,) sum of squared gradients: how much a bucket was needed


def fit(draw: Callable[[int], LabelledSentences], languages: int, epochs: int, rate: float) -> IdentifierWeights:
    """Train on a sample that `draw` makes for each epoch; the step size falls to zero."""
    buckets = 1 << BUCKETS_LOG2
    trained = IdentifierWeights(
        np.zeros((buckets, languages), np.float32), np.zeros(languages, np.float32), np.zeros(buckets, np.float32)
    )
    for epoch in range(epochs):
        sample = draw(epoch)
        order = np.random.default_rng(epoch).permutation(len(sample.sentences))
        rates = rate * (1 - (epoch + np.arange(2)) / epochs)
        _descend(*code_points(sample.sentences), sample.labels, order, letter_kinds(), *trained, rates)
    return trained


@numba.njit(cache=True, fastmath=True)
def _descend(points, ends, labels, order, kinds, weights, bias, squares, rates):  # type: ignore[no-untyped-def]
    buckets = np.empty(MAX_FEATURES, np.int64)
    slope = np.empty(weights.shape[1], np.float32)
    for step in range(len(order)):
        i = order[step]
        count = hash_features(points, ends[i - 1] if i else 0, ends[i], kinds, buckets)
        if count <= 0:
            continue
        share = np.float32(1 / np.sqrt(count))
        slope[:] = 0
        for j in range(count):
            for k in range(len(slope)):
                slope[k] += weights[buckets[j], k]
        _softmax(slope, share, bias)
        slope[labels[i]] -= 1  # now the gradient of the cross entropy
        square = np.float32(0)
        for k in range(len(slope)):
            square += slope[k] * slope[k]
        if square < 1e-6:
            continue
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * step / len(order))
        for k in range(len(slope)):
            bias[k] -= np.float32(0.1) * rate * slope[k]
        for j in range(count):
            bucket = buckets[j]
            squares[bucket] += square * share * share
            size = rate * share / np.sqrt(squares[bucket] + np.float32(1e-3))
            for k in range(len(slope)):
                weights[bucket, k] -= size * slope[k]


@numba.njit(cache=True, fastmath=True)
def _softmax(sums, share, bias):  # type: ignore[no-untyped-def]
    highest = np.float32(-1e30)
    for k in range(len(sums)):
        sums[k] = sums[k] * share + bias[k]
        highest = max(highest, sums[k])
    total = np.float32(0)
    for k in range(len(sums)):
        sums[k] = np.exp(sums[k] - highest)
        total += sums[k]
    for k in range(len(sums)):
        sums[k] /= total


def shrink(trained: IdentifierWeights, languages: Sequence[str], rows: int) -> Model:
    """Keep the `rows` buckets that change answers most, in bytes."""
    centred = trained.weights - trained.weights.mean(axis=1, keepdims=True)
    importance = np.sqrt(trained.squares) * np.abs(centred).max(axis=1)
    kept = np.sort(np.argsort(-importance, kind="stable")[:rows])
    scale = float(np.quantile(np.abs(centred[kept]), 0.9995)) / 127
    weights = np.zeros((len(kept) + 1, len(languages)), np.int8)
    weights[1:] = np.clip(np.round(centred[kept] / scale), -127, 127)
    row_of = np.zeros(1 << BUCKETS_LOG2, np.int32)
    row_of[kept] = np.arange(1, len(kept) + 1)
    none = np.zeros(len(languages), np.float32)
    return Model(tuple(languages), (True,) * len(languages), row_of, weights, scale, trained.bias, none)


def calibrate(model: Model, held_out: Mapping[str, Sequence[str]], lost: float, least: float, most: float) -> Model:
    """Give each language the prior at which the share `lost` of its held-out sentences is unlikely, within bounds."""
    prior = model.prior.copy()
    for number, language in enumerate(model.languages):
        if sentences := held_out.get(language):
            needed = -float(np.quantile(log_odds(model, score(model, sentences), language), lost))
            prior[number] = np.clip(needed, least, most)
    return model._replace(prior=prior)
