"""Sentences as pair scoring wants them: words between spaces, and a vector for each distinct word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import pyarrow as pa

from encoder.inference import Encoder
from encoder.languages import canonical
from encoder.segment import CHINESE, segment
from mining.scoring.features import TextSide, text_side
from mining.scoring.words import Words, split_words

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
        self._rows: dict[str | None, dict[int, int]] = {}
        self._vectors: np.ndarray | None = None
        self._count = 0
        self._lock = Lock()

    def of(self, words: Words, lang: str | None) -> np.ndarray:
        """(vocabulary, dim)"""
        with self._lock:
            return self._of(words, lang)

    def _of(self, words: Words, lang: str | None) -> np.ndarray:
        rows = self._rows.setdefault(lang, {})
        hashes = words.hashes.tolist()
        new = [place for place, word in enumerate(hashes) if word not in rows]
        if self._count + len(new) > self._most and self._count:
            self._rows, self._count = {}, 0
            return self._of(words, lang)
        if new:
            self._add(rows, words, new, lang)
        if self._vectors is None:
            return self._project(self._encoder.encode([], lang))
        return np.asarray(self._vectors[[rows[word] for word in hashes]])

    def _add(self, rows: dict[int, int], words: Words, new: list[int], lang: str | None) -> None:
        made = self._project(self._encoder.encode(words.vocabulary.take(new).to_pylist(), lang))
        kept = np.empty((0, made.shape[1]), np.float32) if self._vectors is None else self._vectors
        end = self._count + len(new)
        if end > len(kept):  # twice the room, so that growing costs little
            grown = np.empty((max(end, 2 * len(kept)), made.shape[1]), np.float32)
            grown[: self._count] = kept[: self._count]
            kept = grown
        kept[self._count : end] = made
        rows.update(zip(words.hashes[new].tolist(), range(self._count, end), strict=True))
        self._vectors, self._count = kept, end


def read_texts(texts: Sequence[str], lang: str | None, encoder: WordEncoder) -> TextSide:
    """What pair scoring knows of the texts of one side."""
    column = pa.array(texts, pa.large_string())
    words = find_words(texts, lang) if _is_segmented(lang) else split_words(column)
    return text_side(column, words, encoder.of(words, lang))
