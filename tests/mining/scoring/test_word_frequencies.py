"""Frequencies of words in parts are those of the whole."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mining.scoring.word_frequencies import WordFrequencies
from mining.scoring.words import split_words

TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "cat", "dog", "Dog"]), max_size=5).map(" ".join), max_size=8)


@given(TEXTS, st.integers(0, 8))
def test_parts_have_the_weights_of_the_whole(texts: list[str], cut: int) -> None:
    whole = split_words(pa.array(texts, pa.large_string()))
    parts = [split_words(pa.array(part, pa.large_string())) for part in (texts[:cut], texts[cut:])]
    joined = WordFrequencies.united(WordFrequencies.of(part) for part in parts)
    assert joined.texts == len(texts)
    np.testing.assert_array_equal(joined.idf(whole.hashes), whole.idf())


def test_a_word_that_no_text_has_weighs_most() -> None:
    known = split_words(pa.array(["a b", "a"]))
    frequencies = WordFrequencies.of(known)
    unknown = split_words(pa.array(["zebra"])).hashes
    assert frequencies.idf(unknown) > frequencies.idf(known.hashes).max()
    assert WordFrequencies.united([]).idf(unknown).shape == (1,)
