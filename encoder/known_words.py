"""Sentences word by word, and what is known of words: each is worked out once, however often a corpus has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from encoder.tokens import Tokens
from mining.utf8_columns import utf8_content

if TYPE_CHECKING:
    from encoder.word_slots import FoundWords

MOST_WORDS = 300_000  # remembered at a time: all but the rarest of a language
MOST_CHARACTERS = 6_000_000  # of these words: what stands between spaces may be a sentence, as in Thai
_LONGEST_WORD = 60
_FEWEST_SLOTS = 1 << 12
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
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._table, self._characters = _EMPTY, 0
        self._slots, self._keys = np.full(_FEWEST_SLOTS, -1, np.int32), np.empty(_FEWEST_SLOTS // 2, np.uint64)

    def __len__(self) -> int:
        return len(self._table.offsets) - 1

    def encode(self, texts: Sequence[str], encode: Callable[[list[str]], Tokens]) -> Tokens:
        """The ids of each text, the words of which (some empty) have a space between them.

        `encode` is asked for new words, together.
        """
        from encoder.word_slots import gather_tokens  # compiled, for which an encoder that is only loaded does not wait

        content, starts = utf8_content(pa.array(texts, pa.large_string()))
        with self._lock:
            try:
                found = self._find(content, starts)
                if len(found.begins) and self._is_full(len(found.begins)):
                    self._forget()
                    found = self._find(content, starts)
                self._add(content, found, encode)
            except BaseException:
                self._forget()  # some words have a place, but no tokens
                raise
            table = self._table
        return Tokens(*gather_tokens(*table, found.rows, found.offsets))

    def _find(self, content: np.ndarray, starts: np.ndarray) -> FoundWords:
        from encoder.word_slots import SPACE, find_words, make_slots

        words = len(starts) - 1 + int(np.count_nonzero(content[starts[0] : starts[-1]] == SPACE))
        size = len(self._slots)
        while size < 2 * (len(self) + words):
            size *= 2
        if size > len(self._slots):
            self._slots = make_slots(self._keys[: len(self)], size)
            self._keys = np.concatenate([self._keys[: len(self)], np.empty(size // 2 - len(self), np.uint64)])
        return find_words(content, starts, words, self._slots, self._keys, len(self))

    def _is_full(self, new: int) -> bool:
        return len(self) + new > MOST_WORDS or self._characters > MOST_CHARACTERS

    def _add(self, content: np.ndarray, found: FoundWords, encode: Callable[[list[str]], Tokens]) -> None:
        if not len(found.begins):
            return
        whole = content.data
        words = [str(whole[begin:end], "utf-8") for begin, end in zip(found.begins, found.ends, strict=True)]
        self._characters += sum(map(len, words))
        self._table = Tokens.concatenate([self._table, encode(words)])
