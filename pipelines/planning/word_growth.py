"""How many words of a text are new: each is cut into subwords once, until so many are known that all are forgotten.

By Heaps' law different words grow as a power of the text. Its power is measured in runs of consecutive lines, as lines
from all over a text share fewer words than neighbours do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from encoder.known_words import MOST_CHARACTERS, MOST_WORDS
from encoder.subword import Subword
from encoder.text import NewWords, TextEncoder
from pipelines.prepare.pieces import has_subwords, load_text_encoder

WINDOW = 16_000  # consecutive lines: chosen on the text of the plan's benchmark, where 8,000 promised too many words
WINDOWS = 4  # of a text
_LEAST_POWER = 0.05  # of a text that says the same again and again


class WordGrowth(NamedTuple):
    """The different words of so many consecutive lines, the power by which they grow, and how many are remembered."""

    lines: float
    words: float
    power: float
    remembered: float

    def new_words(self, lines: float) -> float:
        """Of a text of so many lines, with those that are met again after all were forgotten."""
        if not self.words:
            return 0.0
        until_forgotten = self.lines * (self.remembered / self.words) ** (1 / self.power)
        return self.words * (min(lines, until_forgotten) / self.lines) ** self.power * max(lines / until_forgotten, 1)


NO_WORDS = WordGrowth(1.0, 0.0, 1.0, MOST_WORDS)


def measure_growth(windows: Sequence[Sequence[str]], encoder: str, lang: str) -> WordGrowth:
    """By halves of these windows and the whole of them; nothing grows where a pretrained tokenizer cuts sentences."""
    if not has_subwords(encoder) or not any(windows):
        return NO_WORDS
    of_halves, of_whole = NewWords(), NewWords()
    for window in windows:
        text, begun = _unread(encoder), TextEncoder.met
        text.encode(window[: len(window) // 2], lang)
        of_halves += TextEncoder.met - begun
        text.encode(window[len(window) // 2 :], lang)
        of_whole += TextEncoder.met - begun
    lines, words = sum(map(len, windows)) / len(windows), of_whole.words / len(windows)
    power = math.log2(of_whole.words / of_halves.words) if of_halves.words else 1.0
    characters = of_whole.characters / max(of_whole.words, 1)
    remembered = min(MOST_WORDS, MOST_CHARACTERS / max(characters, 1))
    return WordGrowth(lines, words, min(max(power, _LEAST_POWER), 1.0), remembered)


def _unread(encoder: str) -> TextEncoder:
    """An encoder that knows no words yet."""
    text = load_text_encoder(encoder)
    return TextEncoder(text.settings, Subword(text.subword.model))


class WindowSample:
    """Windows of a stream of lines, spread evenly over it."""

    def __init__(self) -> None:
        self._kept: list[list[bytes]] = []
        self._open: list[bytes] = []
        self._seen, self._step = 0, 1

    def add(self, lines: Sequence[bytes]) -> None:
        begin = 0
        while begin < len(lines):
            taken = lines[begin : begin + WINDOW - len(self._open)]
            self._open += taken
            begin += len(taken)
            if len(self._open) == WINDOW:
                self._close()

    def _close(self) -> None:
        if self._seen % self._step == 0:
            self._kept.append(self._open)
        self._open = []
        self._seen += 1
        if len(self._kept) > 2 * WINDOWS:
            self._kept, self._step = self._kept[::2], 2 * self._step

    def texts(self) -> list[list[str]]:
        """At most `WINDOWS`, from the middle of as many parts; of a short text the only one there is."""
        kept = self._kept or [self._open]
        count = min(len(kept), WINDOWS)
        return [_decoded(kept[len(kept) * (2 * place + 1) // (2 * count)]) for place in range(count)]


def _decoded(lines: Sequence[bytes]) -> list[str]:
    return [text for line in lines if (text := line.decode("utf-8", "replace").strip())]
