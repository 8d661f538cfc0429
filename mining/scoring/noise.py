"""Ways in which a translation goes wrong, made on purpose: for training a classifier, and for measuring one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

_DIGIT = re.compile(r"\d")
_PIECE = 2


class Noise(StrEnum):
    """Kinds of noise that change one text of a pair; each leaves most of the pair as it was."""

    truncated = "truncated"  # the end, or the beginning, is missing
    omission = "omission"  # a run of words is missing
    swapped = "swapped"  # words are replaced by others of like frequency
    number = "number"  # a number is another one
    name = "name"  # a capitalised word is another one
    salad = "salad"  # the words in random order, some of other sentences


class NoiseMaker:
    """Noise in the words of a corpus: replacements come from its own vocabulary."""

    def __init__(self, texts: Sequence[str], seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        counts = Counter(word for text in texts for word in split_text(text))
        self._ranked = [word for word, _ in counts.most_common()]
        self._rank = {word: rank for rank, word in enumerate(self._ranked)}
        inner = Counter(word for text in texts for word in split_text(text)[1:] if word[:1].isupper())
        self._names = sorted(inner)
        self._ways: dict[Noise, Callable[[list[str]], list[str] | None]] = {
            Noise.truncated: self._truncate,
            Noise.omission: self._omit,
            Noise.swapped: self._swap,
            Noise.number: self._change_number,
            Noise.name: self._change_name,
            Noise.salad: self._toss,
        }

    def make(self, text: str, kind: Noise) -> str | None:
        """The text with one such noise, or None where it has nothing to change."""
        words = split_text(text)
        changed = self._ways[kind](list(words))
        if not changed or changed == words:
            return None
        return (" " if " " in text.strip() else "").join(changed)

    def _truncate(self, words: list[str]) -> list[str] | None:
        if len(words) < 4:
            return None
        cut = max(1, round(len(words) * self.rng.uniform(0.3, 0.7)))
        if self.rng.random() < 0.3:
            return words[cut:]
        end = words[-1][-1]
        # Mostly with its full stop: a missing one would give the noise away, and real ones are rarely missing.
        ends = not end.isalnum() and words[-cut - 1][-1].isalnum() and self.rng.random() < 0.8
        return [*words[: -cut - 1], words[-cut - 1] + end] if ends else words[:-cut]

    def _omit(self, words: list[str]) -> list[str] | None:
        if len(words) < 6:
            return None
        size = max(2, round(len(words) * self.rng.uniform(0.2, 0.5)))
        start = int(self.rng.integers(0, len(words) - size + 1))
        return words[:start] + words[start + size :]

    def _swap(self, words: list[str]) -> list[str]:
        count = max(1, round(len(words) * self.rng.uniform(0.15, 0.5)))
        for place in self.rng.choice(len(words), count, replace=False).tolist():
            rank = self._rank.get(words[place], len(self._ranked) - 1)
            width = 5 + rank // 5
            other = int(self.rng.integers(max(0, rank - width), min(len(self._ranked), rank + width + 1)))
            words[place] = self._ranked[other]
        return words

    def _change_number(self, words: list[str]) -> list[str] | None:
        places = [place for place, word in enumerate(words) if _DIGIT.search(word)]
        if not places:
            return None
        place = places[int(self.rng.integers(len(places)))]
        words[place] = other_digits(words[place], self.rng)
        return words

    def _change_name(self, words: list[str]) -> list[str] | None:
        places = [place for place, word in enumerate(words) if place and word[:1].isupper()]
        if not places or not self._names:
            return None
        place = places[int(self.rng.integers(len(places)))]
        others = [name for name in self.rng.choice(self._names, 3).tolist() if name != words[place]]
        words[place] = others[0] if others else words[place]
        return words

    def _toss(self, words: list[str]) -> list[str] | None:
        if len(words) < 4:
            return None
        for place in self.rng.choice(len(words), len(words) // 2, replace=False).tolist():
            words[place] = self._ranked[int(self.rng.integers(min(len(self._ranked), 5000)))]
        return [words[place] for place in self.rng.permutation(len(words)).tolist()]


def other_digits(word: str, rng: np.random.Generator) -> str:
    """The word with another digit in place of each."""
    return _DIGIT.sub(lambda digit: str((int(digit[0]) + int(rng.integers(1, 9))) % 10), word)


def drop_words(texts: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """Each text without a random share of its words, but never without all of them."""
    thinned = []
    for text in texts:
        words = split_text(text)
        kept = [word for word, chance in zip(words, rng.random(len(words)).tolist(), strict=True) if chance >= share]
        thinned.append((" " if " " in text.strip() else "").join(kept) or text)
    return thinned


def split_text(text: str) -> list[str]:
    """Words between spaces; a text without any, as of Chinese, is cut into pieces of two characters."""
    stripped = text.strip()
    if " " in stripped or stripped.isascii():
        return stripped.split()
    return [stripped[at : at + _PIECE] for at in range(0, len(stripped), _PIECE)]
