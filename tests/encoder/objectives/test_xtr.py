"""Equations 2-7 of EMS against literal implementations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder.objectives.xtr import (
    ScoredVocabulary,
    XtrHead,
    reconstruction_loss,
    sample_candidates,
    target_entropy,
)
from encoder.tokens import TokenBatch, Tokens

VOCABULARY = 11
sentence_lists = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=6), min_size=1, max_size=5)


def dense_target(sentences: list[list[int]]) -> torch.Tensor:
    """Equation 7, written out: N_w / length."""
    target = torch.zeros(len(sentences), VOCABULARY)
    for row, sentence in enumerate(sentences):
        for token in sentence:
            target[row, token] += 1 / len(sentence)
    return target


def batch_of(sentences: list[list[int]]) -> TokenBatch:
    return Tokens.from_lists(sentences).batch()


@given(sentence_lists, st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_loss_and_gradients_are_those_of_the_dense_kl(sentences: list[list[int]], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(len(sentences), 5, generator=generator, requires_grad=True)
    output = torch.randn(VOCABULARY, 5, generator=generator, requires_grad=True)
    target = dense_target(sentences)
    log_q = (hidden @ output.T).log_softmax(1)
    kl = (torch.xlogy(target, target) - target * log_q).sum()  # equation 6, one direction
    expected = torch.autograd.grad(3 * kl, (hidden, output))

    ours = reconstruction_loss(hidden, output, batch_of(sentences), None)
    gradients = torch.autograd.grad(3 * ours, (hidden, output))
    torch.testing.assert_close(ours - target_entropy(batch_of(sentences)), kl, atol=1e-4, rtol=1e-4)
    for got, want in zip(gradients, expected, strict=True):
        torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, output = torch.randn(5, 4), torch.randn(VOCABULARY, 4)
    tokens = batch_of([[1, 1, 2], [], [3], [4, 5, 6, 7], [8]])
    whole = reconstruction_loss(hidden, output, tokens, None)
    monkeypatch.setattr("encoder.objectives.xtr._CHUNK_CELLS", 2 * VOCABULARY)
    torch.testing.assert_close(reconstruction_loss(hidden, output, tokens, None), whole)


def test_head_follows_equations_2_to_5() -> None:
    head = XtrHead(dim=4, vocabulary=VOCABULARY, languages=3, language_dim=2)
    u, language = torch.randn(2, 4), torch.tensor([2, 0])
    for row in range(2):
        u_la = torch.eye(3)[language[row]] @ head.language.weight
        mixed = head.connected.weight @ torch.cat([u_la, u[row]]) + head.connected.bias
        swish = mixed * torch.sigmoid(mixed)
        expected = (swish - swish.mean()) / (swish.var(unbiased=False) + 1e-5).sqrt()
        torch.testing.assert_close(head(u, language)[row], expected, atol=1e-5, rtol=1e-4)
    assert head.output.shape == (VOCABULARY, 6)


def test_sampled_candidates_hold_the_targets_and_estimate_the_partition() -> None:
    torch.manual_seed(0)
    vocabulary, logits = 500, torch.randn(500)
    targets = torch.tensor([3, 3, 77])
    estimates = []
    for _ in range(400):
        candidates = sample_candidates(targets, vocabulary, 50)
        assert isinstance(candidates, ScoredVocabulary)
        assert len(candidates.ids) == 52
        assert set(targets.tolist()) <= set(candidates.ids.tolist())
        estimates.append((logits[candidates.ids] + candidates.bias).exp().sum())
    torch.testing.assert_close(torch.stack(estimates).mean(), logits.exp().sum(), rtol=0.05, atol=0)


def test_sampling_everything_is_the_full_softmax() -> None:
    assert sample_candidates(torch.tensor([1, 2]), 10, 8) is None


def test_sampled_loss_gradient_reaches_only_the_candidates() -> None:
    output = torch.randn(50, 4, requires_grad=True)
    tokens = batch_of([[1, 2], [2]])
    candidates = sample_candidates(tokens.ids, 50, 5)
    assert candidates is not None
    reconstruction_loss(torch.randn(2, 4), output, tokens, candidates).backward()
    touched = output.grad.abs().sum(1).nonzero()[:, 0]
    assert touched.tolist() == candidates.ids.tolist()
