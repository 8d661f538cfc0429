"""Equations 8-9 of EMS, and the masking of false negatives, against loops."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder.objectives.contrastive import contrastive_loss, dot_product_loss, same_meaning

keys_strategy = st.lists(st.tuples(*[st.integers(0, 12)] * 3), min_size=1, max_size=9)


def literal_loss(
    left: torch.Tensor, right: torch.Tensor, keys: torch.Tensor, temperature: float, margin: float
) -> torch.Tensor:
    def similarity(j: int, k: int) -> torch.Tensor:
        cosine = torch.nn.functional.cosine_similarity(left[j], right[k], dim=0)
        return ((cosine - margin * (j == k)) / temperature).exp()

    total = torch.zeros((), dtype=left.dtype)
    for j in range(len(left)):
        allowed = [k for k in range(len(left)) if k == j or not set(keys[j].tolist()) & set(keys[k].tolist())]
        forward = sum(similarity(j, k) for k in allowed)
        backward = sum(similarity(k, j) for k in allowed)
        total = total - (similarity(j, j) / forward).log() - (similarity(j, j) / backward).log()
    return total / len(left)


@given(keys_strategy)
@settings(max_examples=60, deadline=None)
def test_join_finds_every_shared_key(rows: list[tuple[int, int, int]]) -> None:
    keys = torch.tensor(rows)
    first = len(rows) // 2
    found = set(zip(*(t.tolist() for t in same_meaning(keys[first:], keys, first)), strict=True))
    expected = {
        (i - first, j)
        for i in range(first, len(rows))
        for j in range(len(rows))
        if i != j and set(rows[i]) & set(rows[j])
    }
    assert found == expected


@given(keys_strategy, st.integers(0, 2**31), st.sampled_from([0.0, 0.3]), st.sampled_from([0.1, 0.01]))
@settings(max_examples=25, deadline=None)
def test_value_and_gradient_are_the_literal_ones(
    rows: list[tuple[int, int, int]], seed: int, margin: float, temperature: float
) -> None:  # the low temperature takes the way without the hand-made gradient
    generator = torch.Generator().manual_seed(seed)
    left = torch.randn(len(rows), 4, generator=generator, dtype=torch.float64, requires_grad=True)
    right = torch.randn(len(rows), 4, generator=generator, dtype=torch.float64, requires_grad=True)
    keys = torch.tensor(rows)
    ours, _ = contrastive_loss(left, right, keys, temperature, margin)
    expected = literal_loss(left, right, keys, temperature, margin)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-4)
    for got, want in zip(
        torch.autograd.grad(ours, (left, right)), torch.autograd.grad(expected, (left, right)), strict=True
    ):
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-3)


def test_permuting_the_batch_changes_nothing() -> None:
    left, right, keys = torch.randn(6, 4), torch.randn(6, 4), torch.arange(18).view(6, 3)
    order = torch.randperm(6)
    loss, hits = contrastive_loss(left, right, keys, 0.05)
    permuted, permuted_hits = contrastive_loss(left[order], right[order], keys[order], 0.05)
    torch.testing.assert_close(loss, permuted)
    torch.testing.assert_close(hits, permuted_hits)


def test_half_precision_around_it_changes_nothing() -> None:
    left, right, keys = torch.randn(8, 16), torch.randn(8, 16), torch.arange(24).view(8, 3)
    losses = (partial(contrastive_loss, left, right, keys, 0.05), partial(dot_product_loss, left, right, keys, 1.0))
    for loss in losses:
        expected = loss()[0]
        with torch.autocast("cpu", dtype=torch.float16):
            assert (left @ right.T).dtype == torch.float16
            assert loss()[0] == expected


def test_local_negatives_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    left, right, keys = torch.randn(5, 4), torch.randn(5, 4), torch.arange(15).view(5, 3)
    alone = contrastive_loss(left, right, keys, 0.1)
    monkeypatch.setattr("encoder.objectives.contrastive.world_size", lambda: 2)
    monkeypatch.setattr("encoder.objectives.contrastive.rank", lambda: 1)
    monkeypatch.setattr("encoder.objectives.contrastive.gather", lambda rows: torch.cat([rows + 1, rows]))
    for temperature in (0.1, 0.01):  # by the fused loss, and by the plain one
        own = contrastive_loss(left, right, keys, temperature, local=True)
        assert temperature != 0.1 or torch.equal(own[0], alone[0])
        assert own[0] < contrastive_loss(left, right, keys, temperature)[0]
