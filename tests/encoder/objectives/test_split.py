"""Split softmax against its formula."""

import pytest
import torch
from torch.nn import functional

from encoder.objectives.contrastive import contrastive_loss
from encoder.objectives.split import Split, SplitSettings
from tests.encoder.objectives.batches import DIM, FACTS, make_batch


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (None, [0, 1, 2]),
        ([101, 102, 103, 104, 105, 106, 104, 108, 109], [1, 2]),
        ([101, 102, 103, 104, 105, 106, 107, 108, 103], [0, 1]),
    ],
    ids=["triples", "negative is the positive", "negative is the anchor"],
)
def test_loss_is_the_formula(text: list[int] | None, counts: list[int]) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(9, DIM)
    batch = make_batch([0, 1, 2] * 3, list(range(9)), text)
    found = Split(SplitSettings(temperature=0.1, margin=0.2, hard=0.25), FACTS).loss(vectors, batch, 0.0)
    hard = torch.zeros(())
    for i in counts:
        right, wrong = (functional.cosine_similarity(vectors[i], vectors[i + n], dim=0) / 0.1 for n in (3, 6))
        hard -= (right.exp() / (right.exp() + wrong.exp())).log() / len(counts)
    keys = torch.arange(3)[:, None]
    in_batch, _ = contrastive_loss(vectors[:3], vectors[3:6], keys, 0.1, 0.2)
    torch.testing.assert_close(found.parts["hard"], hard)
    torch.testing.assert_close(found.parts["contrastive"], in_batch)
    torch.testing.assert_close(found.total, 0.75 * in_batch + 0.25 * hard)


def test_a_known_pair_is_no_negative_of_the_batch() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(9, DIM)
    apart, same = (
        Split(SplitSettings(), FACTS).loss(vectors, make_batch([0, 1, 2] * 3, meaning), 0.0).parts["contrastive"]
        for meaning in (list(range(9)), [50, 50, 2, 3, 4, 5, 6, 7, 8])
    )
    assert same < apart
