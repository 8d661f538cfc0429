"""Whether sentences are in the language that their corpus is said to be in."""

from __future__ import annotations

from collections.abc import Iterable
from math import factorial

import numba
import numpy as np
from numpy.typing import NDArray

from mining.language_id.identifier import Model, Scores, load_model, score

# The way features are made and scored, by number, and the digest of the model's file. A test keeps it true.
_VERSION = "language-id/2 3981275cc234"
# The probability from which on a sentence is taken to be in its language.
LIKELY = 0.5

# A word or two may be anything: below this many features (three words) the prior grows, up to so much.
_SHORT, _LENIENCY = 80, 5.0
_NEGLIGIBLE = -40.0  # an exponential that is lost in rounding beside 1
_LOG_2, _LOG2_E = float(np.log(2)), float(1 / np.log(2))
_INVERSE_FACTORIALS = tuple(1 / factorial(n) for n in range(13, -1, -1))

# Other codes of what the model knows under one, and languages that it cannot tell from that one.
_OTHER_NAMES = {
    "arq": "ar",
    "arz": "ar",
    "fil": "tl",
    "nb": "no",
    "wuu": "zh",
    "yue": "zh",
}
# Languages that cannot be told apart in one sentence count as one.
_CONFUSABLE = ({"bs", "hr", "sh", "sr"}, {"nn", "no"}, {"id", "ms"})


def language_probabilities(sentences: Iterable[str], language: str) -> NDArray[np.float64]:
    """The probability that each sentence of a corpus in `language` is indeed in it, or in one it cannot be told from.

    The corpus's language has a prior, so that at `LIKELY` about one in a hundred right sentences is lost. Sentences
    without a letter say nothing against any language: 1. Those in a script that no known language has: 0.
    """
    model = load_model()
    scores = score(model, list(sentences))
    odds = log_odds(model, scores, language)
    likely = np.where(scores.features == 0, 1.0, 1 / (1 + np.exp(-odds)))
    return np.where(scores.features < 0, 0.0, likely)


def model_version() -> str:
    """What decides an answer: another version may judge a sentence otherwise."""
    return _VERSION


def is_known(language: str) -> bool:
    """Whether the model knows a language; what it says of others means nothing."""
    model = load_model()
    return any(known and name in confusable(language) for name, known in zip(model.languages, model.known, strict=True))


def confusable(language: str) -> set[str]:
    """The model's names of a language and of those that cannot be told from it."""
    name = _OTHER_NAMES.get(language, language)
    return next((group for group in _CONFUSABLE if name in group), {name})


def log_odds(model: Model, scores: Scores, language: str) -> NDArray[np.float64]:
    """(n,) log odds of `language` and those like it against all others, with its prior."""
    own = np.isin(model.languages, list(confusable(language)))
    if not own.any():
        return np.full(len(scores.logits), -np.inf)
    name = _OTHER_NAMES.get(language, language)
    prior = model.prior[model.languages.index(name) if name in model.languages else own]
    prior = prior + _LENIENCY * np.clip(1 - scores.features / _SHORT, 0, 1) ** 2
    return _log_ratios(scores.logits, own) + prior


@numba.njit(cache=True, nogil=True)
def _log_ratios(logits, own):  # type: ignore[no-untyped-def]
    """(n,) the logarithm of the sum of exponentials of a row's own logits, less that of the others'."""
    out = np.empty(len(logits))
    sides = np.flatnonzero(own), np.flatnonzero(~own)
    some, powers = np.empty(len(own)), np.empty(len(own), np.int64)
    for row in range(len(logits)):
        out[row] = 0.0
        for side, sign in zip(sides, (1.0, -1.0)):  # noqa: B905 - compiled code has no strict
            for place in range(len(side)):
                some[place] = logits[row, side[place]]
            out[row] += sign * _log_sum(some[: len(side)], powers[: len(side)])
    return out


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _log_sum(values, powers):  # type: ignore[no-untyped-def]
    """The logarithm of the sum of exponentials, in loops that vectorise, as none that calls `exp` does.

    exp(x) = 2^n exp(r) with |r| at most log(2) / 2, where a polynomial is exact but for some units of the last place.
    """
    highest = values.max() if len(values) else -np.inf
    scales = powers.view(np.float64)
    for place in range(len(values)):
        below = max(values[place] - highest, _NEGLIGIBLE)
        whole = np.floor(below * _LOG2_E + 0.5)
        powers[place] = (np.int64(whole) + 1023) << 52  # the bits of 2^n
        rest = below - whole * _LOG_2
        power = _INVERSE_FACTORIALS[0]
        for inverse in _INVERSE_FACTORIALS[1:]:
            power = power * rest + inverse
        values[place] = power
    total = 0.0
    for place in range(len(values)):
        total += values[place] * scales[place]
    return np.log(total) + highest
