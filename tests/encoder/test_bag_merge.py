"""Bags side by side: exact where nothing is cut, and the least lost where something is."""

import numpy as np
import pytest
import torch

from encoder.bag_merge import merge_bags, principal_directions
from encoder.models import Bag, BagSettings
from encoder.models.spelling import WIDTH
from encoder.tokens import Tokens
from mining.errors import InputError

STARTS = torch.arange(20) % 3 == 0
SPELLINGS = torch.randint(1, 27, (20, WIDTH), generator=torch.Generator().manual_seed(5), dtype=torch.uint8)
SETTINGS = BagSettings(dim=4, bigrams=7, words=11, ngrams=13)


def bag(seed: int, settings: BagSettings = SETTINGS) -> Bag:
    torch.manual_seed(seed)
    return Bag(settings, 20, STARTS, SPELLINGS)


def text(count: int, seed: int = 0) -> Tokens:
    draw = np.random.default_rng(seed)
    return Tokens.from_lists([draw.integers(0, 20, draw.integers(1, 9)).tolist() for _ in range(count)])


def vectors(members: list[Bag], sentences: Tokens) -> torch.Tensor:
    return torch.cat([member.eval()(sentences.batch()) for member in members], dim=1).detach()


def cosines(rows: torch.Tensor) -> torch.Tensor:
    unit = torch.nn.functional.normalize(rows, dim=1)
    return unit @ unit.T


def test_all_dimensions_keep_every_cosine() -> None:
    members = [bag(1), bag(2), bag(3, SETTINGS.model_copy(update={"dim": 3}))]
    merged = merge_bags(members, 11, text(50))
    unseen = text(30, seed=1)
    torch.testing.assert_close(cosines(vectors([merged], unseen)), cosines(vectors(members, unseen)))
    assert merged.settings == SETTINGS.model_copy(update={"dim": 11})


def test_what_is_cut_is_what_sentences_vary_in_least() -> None:
    members, sentences = [bag(1), bag(2)], text(200)
    both = vectors(members, sentences)
    unit = torch.nn.functional.normalize(both, dim=1).double()
    values = torch.linalg.svdvals(unit).square()
    directions = principal_directions(members, sentences)
    torch.testing.assert_close(directions.T @ directions, torch.eye(8))
    kept = vectors([merge_bags(members, 3, sentences)], sentences) / both.norm(dim=1, keepdim=True)
    assert float(kept.double().square().sum()) == pytest.approx(float(values[:3].sum()), rel=1e-4)


def test_copies_of_one_bag_are_that_bag() -> None:
    sentences = text(60)
    merged = merge_bags([bag(1), bag(1)], 4, sentences)
    torch.testing.assert_close(cosines(vectors([merged], sentences)), cosines(vectors([bag(1)], sentences)))


def test_the_same_each_time() -> None:
    one, other = (merge_bags([bag(1), bag(2)], 4, text(100)).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("other", "dim", "message"),
    [
        (SETTINGS, 9, "8 dimensions together cannot be merged into 9"),
        (SETTINGS.model_copy(update={"words": 0}), 4, "the same vocabulary and the same tables"),
        (SETTINGS.model_copy(update={"bigrams": 8}), 4, "the same vocabulary and the same tables"),
    ],
)
def test_what_cannot_be_merged_is_refused(other: BagSettings, dim: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        merge_bags([bag(1), bag(2, other)], dim, text(5))
