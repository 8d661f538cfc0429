"""The bag against a loop over sentences."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoder.models import Bag, BagSettings
from encoder.models.bag import bigram_buckets, word_buckets
from encoder.tokens import Tokens
from tests.encoder.models.words import words_of

BATCHES = st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=8)
STARTS = torch.arange(20) % 3 == 0


def long_words(ids: list[int]) -> list[list[int]]:
    return [word for word in words_of(ids, STARTS) if len(word) > 1]


@given(BATCHES, st.sampled_from([0, 7]), st.sampled_from([0, 11]))
def test_bag_is_the_mean_of_subwords_bigrams_and_words(batch: list[list[int]], bigrams: int, words: int) -> None:
    bag = Bag(BagSettings(dim=4, bigrams=bigrams, words=words), 20, STARTS)
    vectors = bag(Tokens.from_lists(batch).batch())
    assert vectors.shape == (len(batch), 4)
    for row, ids in zip(vectors, batch, strict=True):
        features = [bag.tokens.weight[token] for token in ids]
        if bag.bigrams is not None:
            pairs = [bigram_buckets(Tokens.from_lists([pair]).batch(), bigrams).ids for pair in pairwise(ids)]
            features += [bag.bigrams.weight[int(pair)] for pair in pairs]
        if bag.words is not None:
            hashes = [word_buckets(Tokens.from_lists([word]).batch(), STARTS, words).ids for word in long_words(ids)]
            features += [bag.words.weight[int(bucket)] for bucket in hashes]
        expected = torch.stack(features).mean(0) if features else torch.zeros(4)
        torch.testing.assert_close(row, expected)


def test_bigram_hash_depends_on_order_and_fills_the_buckets() -> None:
    draw = np.random.default_rng(0)
    batch = Tokens.from_lists([draw.integers(0, 30_000, 20_001).tolist()]).batch()
    counts = torch.bincount(bigram_buckets(batch, 100).ids, minlength=100)
    assert counts.min() > 100  # 200 expected; a standard deviation is 14
    there, back = (bigram_buckets(Tokens.from_lists([ids]).batch(), 10**6).ids for ids in ([3, 5], [5, 3]))
    assert there != back


@given(BATCHES)
def test_sparse_gradients_are_the_dense_ones(batch: list[list[int]]) -> None:
    gradients = []
    for sparse in (False, True):
        torch.manual_seed(0)
        bag = Bag(BagSettings(dim=4, bigrams=8, words=8, sparse=sparse), 20, STARTS)
        bag(Tokens.from_lists(batch).batch()).square().sum().backward()
        gradients.append([parameter.grad for parameter in bag.parameters()])
    for dense, rows in zip(*gradients, strict=True):
        assert dense is not None
        assert rows is not None
        assert rows.is_sparse
        torch.testing.assert_close(rows.to_dense(), dense)


def test_a_word_is_hashed_by_its_tokens_in_order() -> None:
    def bucket(ids: list[int]) -> list[int]:
        return word_buckets(Tokens.from_lists([ids]).batch(), STARTS, 10**9).ids.tolist()

    assert bucket([3, 4, 5]) != bucket([3, 5, 4])
    assert bucket([3, 4, 6, 7]) == bucket([3, 4]) + bucket([6, 7])
    assert bucket([3, 6, 9]) == []


def test_a_bag_whose_weights_come_later_draws_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "normal_", lambda *given, **more: pytest.fail("drawn"))
    with torch.device("meta"):
        assert Bag(BagSettings(dim=4, bigrams=7), 20).tokens.weight.is_meta


def test_dropout_leaves_out_features_while_training_only() -> None:
    batch = Tokens.from_lists([list(range(20)) * 50]).batch()
    settings = BagSettings(dim=4, bigrams=8, words=8, ngrams=8)
    torch.manual_seed(0)
    bag = Bag(settings.model_copy(update={"dropout": 0.5}), 20, STARTS)
    torch.manual_seed(0)
    plain = Bag(settings, 20, STARTS)
    assert not torch.allclose(bag(batch), bag(batch))
    assert torch.equal(bag.eval()(batch), plain(batch))


def test_dropout_keeps_features_with_their_sentence() -> None:
    torch.manual_seed(0)
    bag = Bag(BagSettings(dim=2, dropout=0.5), 3)
    with torch.no_grad():
        bag.tokens.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]))
    vectors = bag(Tokens.from_lists([[0] * 200, [], [1] * 200]).batch())
    torch.testing.assert_close(vectors, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))


def test_features_that_dropout_leaves_out_get_no_gradient() -> None:
    torch.manual_seed(0)
    spellings = torch.randint(1, 26, (20, 8), dtype=torch.uint8)
    bag = Bag(BagSettings(dim=2, ngrams=16, dropout=0.9, sparse=True), 20, STARTS, spellings)
    bag(Tokens.from_lists([[token] for token in range(20)]).batch()).sum().backward()
    for table in (bag.tokens, bag.ngrams):
        assert table is not None
        gradient = table.weight.grad
        assert gradient is not None
        assert 0 < (gradient.to_dense() != 0).any(1).sum() < len(table.weight)
