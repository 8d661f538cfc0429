"""Vectors of words: made once for those met lately, and the same whatever they come with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from encoder.inference import Encoder
from mining.row_products import row_products
from pipelines.mine.word_texts import WordEncoder, read_texts

DIM = 512


class MadeUpEncoder:
    """A vector for each word, and which words were asked for."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], lang: str | None = None) -> np.ndarray:
        self.encoded += texts
        made = [np.random.default_rng([*text.encode()]).standard_normal(DIM, np.float32) for text in texts]
        return np.array(made, np.float32).reshape(-1, DIM)


def projection(vectors: np.ndarray) -> np.ndarray:
    return row_products(vectors, np.random.default_rng(0).standard_normal((DIM, 100), np.float32))


def test_words_met_before_are_not_encoded_again() -> None:
    encoder = MadeUpEncoder()
    encoded = encoder.encoded
    words = WordEncoder(cast(Encoder, encoder), lambda vectors: vectors[:, :5], most=3)
    first = read_texts(["ab cd", "cd ef"], "de", words).words
    again = read_texts(["ef gh cd"], "de", words).words
    assert sorted(encoded) == ["ab", "cd", "ef", "gh"]
    np.testing.assert_array_equal(again.vectors[[0, 2]], first.vectors[[2, 1]])
    later = read_texts(["ij cd kl mn"], "de", words).words  # more than three are known: these are the older ones now
    assert sorted(encoded) == ["ab", "cd", "ef", "gh", "ij", "kl", "mn"]
    np.testing.assert_array_equal(later.vectors[1], first.vectors[1])
    read_texts(["op cd"], "de", words)  # what was not met since is forgotten
    read_texts(["ab cd"], "de", words)
    assert [encoded.count(word) for word in ("ab", "cd")] == [2, 1]
    assert read_texts(["..."], "de", words).words.vectors.shape == (0, 5)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_a_word_has_the_same_vector_whatever_it_comes_with(size: int) -> None:
    """Which words are new depends on what was met before."""
    texts = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(2500)]
    expected = read_texts(texts, "de", WordEncoder(cast(Encoder, MadeUpEncoder()), projection)).words.vectors
    words = WordEncoder(cast(Encoder, MadeUpEncoder()), projection)
    for first in range(0, 20 * size, size):
        found = read_texts(texts[first : first + size], "de", words).words.vectors
        np.testing.assert_array_equal(found, expected[first : first + size])
