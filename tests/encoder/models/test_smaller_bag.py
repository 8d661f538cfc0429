"""A smaller bag out of a larger one: which can be made, and what its vectors keep."""

import numpy as np
import pytest
import torch

from encoder.models.bag import Bag, BagSettings
from encoder.models.smaller_bag import is_smaller, smaller_state
from encoder.tokens import TokenBatch
from encoder.training.row_use import row_use

LARGE = BagSettings(dim=16, bigrams=64, words=32, ngrams=32)


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({"dim": 8}, True),
        ({"bigrams": 32, "words": 16}, True),
        ({"bigrams": 32, "dim": 8, "ngrams": 8}, True),
        ({}, False),  # nothing is smaller
        ({"dim": 12}, False),  # no multiple of 8
        ({"dim": 24}, False),
        ({"bigrams": 48}, False),  # no whole fraction
        ({"bigrams": 128}, False),
        ({"words": 0}, False),
    ],
)
def test_which_bags_can_be_made(changes: dict[str, int], possible: bool) -> None:
    assert is_smaller(LARGE.model_copy(update=changes), LARGE) is possible


def test_rows_that_meet_become_their_mean_by_use() -> None:
    large = Bag(BagSettings(dim=2, bigrams=4), vocabulary=3)
    with torch.no_grad():
        large.bigrams.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 5.0]]))
    use = {"tokens.weight": np.ones(3), "bigrams.weight": np.array([3.0, 1.0, 1.0, 1.0])}
    state = smaller_state(large, BagSettings(dim=2, bigrams=2), use)
    assert state["bigrams.weight"].tolist() == [[1.5, 0.0], [0.0, 3.0]]  # rows 0 and 2, rows 1 and 3
    assert torch.equal(state["tokens.weight"], large.tokens.weight)


def test_a_table_that_was_folded_finds_the_rows_of_the_larger_one() -> None:
    """Where the rows that meet are equal, the smaller bag has the larger one's vectors."""
    torch.manual_seed(0)
    large = Bag(BagSettings(dim=8, bigrams=64), vocabulary=50)
    with torch.no_grad():
        large.bigrams.weight.copy_(large.bigrams.weight[:16].repeat(4, 1))
    settings = BagSettings(dim=8, bigrams=16)
    small = Bag(settings, vocabulary=50)
    small.load_state_dict(smaller_state(large, settings, row_use(large, None)))
    batch = TokenBatch(torch.randint(0, 50, (200,)), torch.arange(0, 201, 10))
    assert torch.allclose(large(batch), small(batch), atol=1e-6)


def test_leading_directions_keep_the_cosines() -> None:
    torch.manual_seed(0)
    large = Bag(BagSettings(dim=16), vocabulary=40)
    with torch.no_grad():  # all but nothing outside of 8 directions
        large.tokens.weight.copy_(torch.randn(40, 8) @ torch.randn(8, 16) + 0.01 * torch.randn(40, 16))
    settings = BagSettings(dim=8)
    small = Bag(settings, vocabulary=40)
    small.load_state_dict(smaller_state(large, settings, row_use(large, None)))
    batch = TokenBatch(torch.arange(40), torch.arange(41))
    cosines = [torch.nn.functional.normalize(bag(batch)) for bag in (large, small)]
    assert torch.allclose(cosines[0] @ cosines[0].T, cosines[1] @ cosines[1].T, atol=0.02)
