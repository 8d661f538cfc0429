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

MOST_WORDS = 400_000  # remembered at least, and twice as many at most
_SEGMENTED = CHINESE | {"ja"}
Projection = Callable[[np.ndarray], np.ndarray]  # of each word whatever comes with it


def find_words(texts: Sequence[str], lang: str | None) -> Words:
    """The words of each text; Chinese and Japanese are segmented, where `lang` says so."""
    return split_words(pa.array(segment(texts, lang) if _is_segmented(lang) else texts, pa.large_string()))


def _is_segmented(lang: str | None) -> bool:
    return lang is not None and canonical(lang) in _SEGMENTED


class WordEncoder:
    """Projected vectors of words: texts that come in chunks meet most of their words again.

    Between `most` and twice as many words are remembered, those that were met last; beyond, the vectors of words that
    were not met for long are made again. Threads may share one.
    """

    def __init__(self, encoder: Encoder, project: Projection, most: int = MOST_WORDS) -> None:
        self._encoder, self._project, self._most = encoder, project, most
        self._recent: dict[str | None, _KnownVectors] = {}
        self._older: dict[str | None, _KnownVectors] = {}
        self._lock = Lock()

    def of(self, words: Words, lang: str | None) -> np.ndarray:
        """(vocabulary, dim)"""
        with self._lock:
            if sum(len(known.numbers) for known in self._recent.values()) > self._most:
                self._older, self._recent = self._recent, {}
            known = self._recent.pop(lang, None) or _KnownVectors()
            before = len(known.numbers)
            numbers = known.numbers.of(words.hashes)
            new = np.flatnonzero(numbers >= before)
            if len(new) or known.vectors is None:
                known.add(self._made(words, new, lang), before)
            self._recent[lang] = known  # only now: a word that has a number has a vector, whatever fails
            assert known.vectors is not None
            return np.asarray(known.vectors[numbers])

    def _made(self, words: Words, rows: np.ndarray, lang: str | None) -> np.ndarray:
        """The vectors of these words, as they were made before, if not too long ago."""
        older = self._older.get(lang)
        numbers = np.full(len(rows), -1) if older is None else older.numbers.find(words.hashes[rows])
        missing = numbers < 0
        # in lower case, as words are told apart: which text has one first must not matter
        texts = pc.utf8_lower(words.vocabulary.take(pa.array(rows[missing]))).to_pylist()
        made = self._project(self._encoder.encode(texts, lang))
        if older is None or older.vectors is None:
            return made
        vectors = np.empty((len(rows), made.shape[1]), np.float32)
        vectors[missing], vectors[~missing] = made, older.vectors[numbers[~missing]]
        return vectors


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
