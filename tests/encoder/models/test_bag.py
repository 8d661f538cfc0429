"""The bag against a loop over sentences."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder.models import Bag, BagSettings
from encoder.models.bag import bigram_buckets
from encoder.tokens import Tokens

BATCHES = st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=8)


@settings(deadline=None)
@given(BATCHES, st.sampled_from([0, 7]))
def test_bag_is_the_mean_of_unigrams_plus_the_mean_of_bigrams(batch: list[list[int]], buckets: int) -> None:
    bag = Bag(BagSettings(dim=4, bigrams=buckets), 20)
    if bag.bigrams is not None:
        torch.nn.init.normal_(bag.bigrams.weight)
    vectors = bag(Tokens.from_lists(batch).batch())
    assert vectors.shape == (len(batch), 4)
    for row, ids in zip(vectors, batch, strict=True):
        expected = bag.tokens.weight[ids].mean(0) if ids else torch.zeros(4)
        if bag.bigrams is not None and len(ids) > 1:
            pairs = [int(bigram_buckets(Tokens.from_lists([pair]).batch(), 7).ids) for pair in pairwise(ids)]
            expected = expected + bag.bigrams.weight[pairs].mean(0)
        torch.testing.assert_close(row, expected)


def test_bigram_hash_depends_on_order_and_fills_the_buckets() -> None:
    draw = np.random.default_rng(0)
    batch = Tokens.from_lists([draw.integers(0, 30_000, 20_001).tolist()]).batch()
    counts = torch.bincount(bigram_buckets(batch, 100).ids, minlength=100)
    assert counts.min() > 100  # 200 expected; a standard deviation is 14
    there, back = (bigram_buckets(Tokens.from_lists([ids]).batch(), 10**6).ids for ids in ([3, 5], [5, 3]))
    assert there != back


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_are_sparse_on_request(sparse: bool) -> None:
    bag = Bag(BagSettings(dim=4, bigrams=8, sparse=sparse), 20)
    bag(Tokens.from_lists([[1, 2], [3]]).batch()).sum().backward()
    assert bag.tokens.weight.grad is not None and bag.tokens.weight.grad.is_sparse == sparse
