"""A sample of sentences in which small languages count for more than their size."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from itertools import cycle, islice


def balanced_sample(
    sentences_by_lang: Mapping[str, Iterable[str]], most: int, temperature: float, seed: int
) -> list[str]:
    """About `most` sentences, or as many as there are, each language with a share of n^(1/temperature).

    Small languages are repeated to fill their share. One pass over each language, in the order of their names; the same
    seed gives the same sample; at most `2 * most` sentences are held, as a language's share only shrinks when
    others are read.
    """
    kept: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for lang in sorted(sentences_by_lang):
        kept[lang], counts[lang] = reservoir(sentences_by_lang[lang], most, random.Random(f"{seed} {lang}"))
        for other, share in shares(counts, most, temperature).items():
            del kept[other][share:]
    sizes = shares(counts, min(most, sum(counts.values())), temperature)
    return [sentence for lang in kept for sentence in islice(cycle(kept[lang]), sizes[lang])]


def shares(counts: Mapping[str, int], total: int, temperature: float) -> dict[str, int]:
    """How many of `total` sentences each language gets: at least one, unless it has none."""
    weights = {lang: count ** (1 / temperature) if count else 0.0 for lang, count in counts.items()}
    scale = total / max(sum(weights.values()), 1e-9)
    return {lang: max(math.floor(weight * scale), 1) if weight else 0 for lang, weight in weights.items()}


def reservoir(sentences: Iterable[str], size: int, rng: random.Random) -> tuple[list[str], int]:
    """`size` sentences drawn uniformly, in random order, and how many there were (Li 1994, algorithm L)."""
    iterator = iter(sentences)
    drawn = list(islice(iterator, size))
    rng.shuffle(drawn)
    log_weight, count = 0.0, len(drawn)
    following = count
    while True:
        log_weight += _log_uniform(rng) / size
        following += math.floor(_log_uniform(rng) / math.log(-math.expm1(log_weight))) + 1
        for count, sentence in enumerate(iterator, count + 1):  # noqa: B020 - it goes on counting
            if count == following:
                drawn[rng.randrange(size)] = sentence
                break
        else:
            return drawn, count


def _log_uniform(rng: random.Random) -> float:
    return math.log(max(rng.random(), 1e-300))
