"""Sentences as pair scoring wants them: words between spaces, and a vector for each distinct word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from encoder.inference import Encoder
from encoder.languages import canonical
from encoder.segment import CHINESE, segment
from mining.scoring.features import TextSide, text_side
from mining.scoring.word_frequencies import WordFrequencies
from mining.scoring.words import WordNumbers, Words, split_words

_SEGMENTED = CHINESE | {"ja"}
Projection = Callable[[np.ndarray], np.ndarray]


def find_words(texts: Sequence[str], lang: str | None) -> Words:
    """The words of each text; Chinese and Japanese are segmented, where `lang` says so."""
    return split_words(pa.array(segment(texts, lang) if _is_segmented(lang) else texts, pa.large_string()))


def _is_segmented(lang: str | None) -> bool:
    return lang is not None and canonical(lang) in _SEGMENTED


class WordEncoder:
    """Projected vectors of words, each made once: texts that come in chunks meet most of their words again.

    At most `most` words are remembered; when there are more, it starts anew. Threads may share one.
    """

    def __init__(self, encoder: Encoder, project: Projection, most: int = 400_000) -> None:
        self._encoder, self._project, self._most = encoder, project, most
        self._known: dict[str | None, _KnownVectors] = {}
        self._lock = Lock()

    def of(self, words: Words, lang: str | None) -> np.ndarray:
        """(vocabulary, dim)"""
        with self._lock:
            known = self._known.setdefault(lang, _KnownVectors())
            before = len(known.numbers)
            numbers = known.numbers.of(words.hashes)
            if before and sum(len(each.numbers) for each in self._known.values()) > self._most:
                known = _KnownVectors()
                before, numbers = 0, known.numbers.of(words.hashes)
                self._known = {lang: known}
            new = np.flatnonzero(numbers >= before)
            try:
                if len(new) or known.vectors is None:
                    # in lower case, as words are told apart: which text has one first must not matter
                    texts = pc.utf8_lower(words.vocabulary.take(pa.array(new))).to_pylist()
                    known.add(self._project(self._encoder.encode(texts, lang)), before)
            except BaseException:
                del self._known[lang]  # some words have a number, but no vector
                raise
            assert known.vectors is not None
            return np.asarray(known.vectors[numbers])


class _KnownVectors:
    """Words of one language, and their vectors by number."""

    def __init__(self) -> None:
        self.numbers = WordNumbers()
        self.vectors: np.ndarray | None = None

    def add(self, made: np.ndarray, before: int) -> None:
        end = before + len(made)
        if self.vectors is None or end > len(self.vectors):  # twice the room, so that growing costs little
            grown = np.empty((end + before, made.shape[1]), np.float32)
            if self.vectors is not None:
                grown[:before] = self.vectors[:before]
            self.vectors = grown
        self.vectors[before:end] = made


def read_texts(
    texts: Sequence[str], lang: str | None, encoder: WordEncoder, frequencies: WordFrequencies | None = None
) -> TextSide:
    """What pair scoring knows of the texts of one side; words are weighed by these texts, or by `frequencies`."""
    column = pa.array(texts, pa.large_string())
    words = find_words(texts, lang) if _is_segmented(lang) else split_words(column)
    weights = None if frequencies is None else frequencies.idf(words.hashes)
    return text_side(column, words, encoder.of(words, lang), weights)
