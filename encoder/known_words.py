"""Sentences word by word, and what is known of words: each is worked out once, however often a corpus has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from encoder.tokens import Tokens

MOST_WORDS = 300_000  # remembered at a time: all but the rarest of a language
MOST_CHARACTERS = 6_000_000  # of these words: what stands between spaces may be a sentence, as in Thai
_LONGEST_WORD = 60
_EMPTY = Tokens.from_lists([])


class Segmenter:
    """Segments sentences in two steps, of which the second can be remembered; here as spaces have it."""

    def spaced(self, sentence: str) -> str:
        """The words of a sentence whose white space is single spaces, with a space between any two, some of them empty.

        The tokens of one word do not depend on the others.
        """
        return sentence

    def tokens(self, word: str) -> str:
        """The tokens of one of the words, joined by single spaces."""
        return word


class Remembered(dict[str, str]):
    """What `make` makes of every word met so far, made when first asked for."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make

    def __missing__(self, word: str) -> str:
        made = self._make(word)
        if len(self) >= MOST_WORDS:
            self.clear()
        if len(word) <= _LONGEST_WORD:
            self[word] = made
        return made


class WordTable:
    """The token ids of every word met so far; threads may share one."""

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._table = _EMPTY
        self._characters = 0
        self._lock = Lock()

    def encode(self, texts: Sequence[str], encode: Callable[[list[str]], Tokens]) -> Tokens:
        """The ids of each text, the words of which (some empty) have a space between them.

        `encode` is asked for new words, together.
        """
        words = pc.split_pattern(pa.array(texts, pa.large_string()), " ")
        distinct = words.values.dictionary_encode()  # by arrow, as most words of a text are in it many times
        tokens = self._gather(distinct.dictionary.to_pylist(), encode).take(distinct.indices.to_numpy())
        return Tokens(tokens.ids, tokens.offsets[words.offsets.to_numpy()])

    def _gather(self, words: list[str], encode: Callable[[list[str]], Tokens]) -> Tokens:
        """The ids of each of some different words, in order."""
        with self._lock:
            rows = list(map(self._row.get, words))
            if None in rows:
                new = [word for word, row in zip(words, rows, strict=True) if row is None]
                if len(self._row) + len(new) > MOST_WORDS or self._characters > MOST_CHARACTERS:
                    self._row, self._table, self._characters = {}, _EMPTY, 0
                    new = words
                self._add(new, encode(new))
                rows = list(map(self._row.get, words))
            return self._table.take(np.array(rows, np.int64))

    def _add(self, words: list[str], tokens: Tokens) -> None:
        self._characters += sum(map(len, words))
        self._row.update(zip(words, count(len(self._row)), strict=False))
        offsets = np.concatenate([self._table.offsets, tokens.offsets[1:] + self._table.offsets[-1]])
        self._table = Tokens(np.concatenate([self._table.ids, tokens.ids]), offsets)
