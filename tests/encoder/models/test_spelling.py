"""Romanised n-grams against a loop over words."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder.models import Bag, BagSettings
from encoder.models.spelling import bucket, different_words, ngrams
from encoder.romanise import romanise, spell
from encoder.tokens import TokenBatch, Tokens
from tests.encoder.models.words import words_of

PIECES = ["", "", "▁o", "bama", "▁об", "ама", "▁東京", "▁!", "mars", "▁x"]
STARTS = torch.tensor([piece.startswith("▁") for piece in PIECES])
SPELLINGS = torch.from_numpy(spell(PIECES))
BATCHES = st.lists(st.lists(st.integers(0, len(PIECES) - 1), max_size=6), max_size=8)


def grams_of(word: list[int], buckets: int) -> list[int]:
    letters = [letter for token in word for letter in SPELLINGS[token].tolist() if letter]
    marked = [1, *letters, 2] if letters else []
    grams = [(n, marked[i : i + n]) for n in (3, 4) for i in range(len(marked) - n + 1)]
    keys = [int.from_bytes(bytes([n, *gram]), "big") for n, gram in grams]
    return [int(bucket(torch.tensor([key]), buckets)) for key in keys]


@settings(max_examples=25, deadline=None)
@given(BATCHES)
def test_different_words_put_together_are_the_sentences(batch: list[list[int]]) -> None:
    words, occurrences = different_words(Tokens.from_lists(batch).batch(), STARTS)
    known = [part.tolist() for part in words.ids.split(words.offsets.diff().tolist())] if len(words.ids) else []
    assert len(set(map(tuple, known))) == len(known)
    rows = [row.tolist() for row in occurrences.ids.split(occurrences.offsets.diff().tolist())] if batch else []
    assert [[known[word] for word in row] for row in rows] == [words_of(ids, STARTS) for ids in batch]


@settings(max_examples=25, deadline=None)
@given(BATCHES)
def test_spelling_adds_the_mean_of_the_ngrams_of_each_word(batch: list[list[int]]) -> None:
    bag = Bag(BagSettings(dim=4, ngrams=50), len(PIECES), STARTS, SPELLINGS)
    assert bag.ngrams is not None
    for row, ids in zip(bag(Tokens.from_lists(batch).batch()), batch, strict=True):
        features = [bag.tokens.weight[token] for token in ids]
        for word in words_of(ids, STARTS):
            grams = grams_of(word, 50)
            features.append(bag.ngrams.weight[grams].mean(0) if grams else torch.zeros(4))
        expected = torch.stack(features).mean(0) if features else torch.zeros(4)
        torch.testing.assert_close(row, expected)


@settings(max_examples=25, deadline=None)
@given(BATCHES)
def test_sparse_gradients_are_the_dense_ones(batch: list[list[int]]) -> None:
    gradients = []
    for sparse in (False, True):
        torch.manual_seed(0)
        bag = Bag(BagSettings(dim=4, ngrams=50, sparse=sparse), len(PIECES), STARTS, SPELLINGS)
        bag(Tokens.from_lists(batch).batch()).square().sum().backward()
        assert bag.ngrams is not None
        gradients.append(bag.ngrams.weight.grad)
    dense, sparse_gradient = gradients
    if dense is not None and sparse_gradient is not None:
        torch.testing.assert_close(sparse_gradient.to_dense(), dense)


def test_a_name_has_the_same_ngrams_in_two_scripts() -> None:
    latin, cyrillic = (Tokens.from_lists([ids]).batch() for ids in ([2, 3], [4, 5]))
    assert ngrams(latin, SPELLINGS, 10**6).ids.tolist() == ngrams(cyrillic, SPELLINGS, 10**6).ids.tolist()


def test_tokens_are_spelled_in_small_latin_letters_and_cut() -> None:
    assert romanise("▁Ångström!") == "angstrom"
    spelled = spell(["", "▁ab", "x" * 40])
    assert spelled.dtype == np.uint8
    assert spelled.sum(1).tolist() == [0, ord("a") + ord("b"), 16 * ord("x")]


def test_no_word_has_no_ngrams() -> None:
    empty = TokenBatch(torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    assert len(ngrams(empty, SPELLINGS, 7).ids) == 0
