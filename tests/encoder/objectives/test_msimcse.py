"""Equation 1 of mSimCSE, with hard negatives and without false ones."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from encoder.objectives.msimcse import Msimcse, MsimcseSettings
from mining.errors import InputError
from tests.encoder.objectives.batches import DIM, FACTS, make_batch


def literal(vectors: Tensor, count: int, forbidden: set[tuple[int, int]]) -> Tensor:
    """Anchors are rows 0 to count, positives follow, hard negatives are last; temperature 0.05."""
    total = torch.zeros(())
    for i in range(count):
        scores = [
            functional.cosine_similarity(vectors[i], vectors[j], dim=0) / 0.05
            for j in range(count, len(vectors))
            if (i, j) not in forbidden
        ]
        positive = functional.cosine_similarity(vectors[i], vectors[count + i], dim=0) / 0.05
        total = total - (positive.exp() / torch.stack(scores).exp().sum()).log()
    return total / count


@pytest.mark.parametrize(
    ("strategy", "example", "meaning", "text", "forbidden"),
    [
        ("supervised", [0, 1, 2] * 2, None, None, set()),
        ("supervised", [0, 1, 2] * 2, [7, 7, 9] * 2, None, {(0, 4), (1, 3)}),
        ("supervised", [0, 1, 2] * 2, None, [1, 2, 3, 4, 5, 4], {(0, 5), (2, 3)}),
        ("nli", [0, 1, 2] * 3, list(range(9)), None, set()),
        # The same premise twice: the entailment of one is not a negative of the other, the contradictions are.
        ("nli", [0, 1, 2] * 3, [50, 50, *range(7)], None, {(0, 4), (1, 3)}),
        # A hard negative of somebody else that is my own positive.
        ("nli", [0, 1, 2] * 3, list(range(100, 109)), [1, 2, 3, 4, 5, 6, 7, 4, 8], {(0, 7)}),
    ],
    ids=["pairs", "same meaning", "same text", "triples", "same premise", "positive as hard negative"],
)
def test_loss_and_gradient_are_equation_1(
    strategy: str,
    example: list[int],
    meaning: list[int] | None,
    text: list[int] | None,
    forbidden: set[tuple[int, int]],
) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(len(example), DIM, requires_grad=True)
    objective = Msimcse(MsimcseSettings(strategy=strategy), FACTS)
    ours = objective.loss(vectors, make_batch(example, meaning, text), 0.0).total
    expected = literal(vectors, 3, forbidden)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-4)
    gradients = (torch.autograd.grad(loss, vectors)[0] for loss in (ours, expected))
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-3)


def test_unsupervised_encodes_every_sentence_twice() -> None:
    objective = Msimcse(MsimcseSettings(strategy="unsupervised"), FACTS)
    batch = objective.arrange(make_batch([0, 1, 2]))
    assert batch.sentences == 6
    first, second = (batch.tokens.offsets[:4], batch.tokens.offsets[3:] - batch.tokens.offsets[3])
    assert torch.equal(first, second)
    half = len(batch.tokens.ids) // 2
    assert torch.equal(batch.tokens.ids[:half], batch.tokens.ids[half:])
    assert torch.isfinite(objective.loss(torch.randn(6, DIM), batch, 0.0).total)


def test_unsupervised_without_dropout_is_refused() -> None:
    with pytest.raises(InputError, match="dropout as its only augmentation"):
        Msimcse(MsimcseSettings(strategy="unsupervised"), FACTS._replace(dropout=False))


def test_the_tanh_head_is_trained_and_not_part_of_the_encoder() -> None:
    objective = Msimcse(MsimcseSettings(head="tanh"), FACTS)
    vectors = torch.randn(6, DIM)
    batch = make_batch([0, 1, 2] * 2)
    objective.loss(vectors, batch, 0.0).total.backward()
    linear = objective.head[0]
    assert linear.weight.grad.abs().sum() > 0
    expected = literal(torch.tanh(linear(vectors)), 3, set())
    torch.testing.assert_close(objective.loss(vectors, batch, 0.0).total, expected, atol=1e-4, rtol=1e-4)


def test_the_order_of_the_batch_does_not_matter() -> None:
    torch.manual_seed(1)
    objective = Msimcse(MsimcseSettings(strategy="nli"), FACTS)
    vectors, meaning = torch.randn(9, DIM), [50, 50, *range(7)]
    order = torch.tensor([2, 0, 1, 5, 3, 4, 8, 6, 7])
    one = objective.loss(vectors, make_batch([0, 1, 2] * 3, meaning), 0.0)
    other = objective.loss(vectors[order], make_batch([0, 1, 2] * 3, [meaning[i] for i in order]), 0.0)
    torch.testing.assert_close(one.total, other.total)


def test_languages_are_for_single_sentences() -> None:
    with pytest.raises(ValueError, match="languages is for strategy unsupervised"):
        MsimcseSettings(languages=("en",))
