"""Sentences as pair scoring wants them: words between spaces, and a vector for each distinct word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    spaced = segment(texts, lang) if lang is not None and canonical(lang) in _SEGMENTED else texts
    return split_words(pa.array(spaced, pa.large_string()))


def read_texts(texts: Sequence[str], lang: str | None, encoder: Encoder, project: Projection) -> TextSide:
    """What pair scoring knows of the texts of one side."""
    words = find_words(texts, lang)
    vectors = encoder.encode(words.vocabulary.to_pylist(), lang)
    return text_side(pa.array(texts, pa.large_string()), words, project(vectors))
