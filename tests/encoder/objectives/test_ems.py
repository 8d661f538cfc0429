"""The joint loss (equation 12) and the ablations of Table 13."""

import pytest
import torch
from torch import nn

from encoder.batch import Batch
from encoder.objectives.ems import Ems, EmsSettings
from encoder.objectives.objective import EncoderFacts
from encoder.tokens import Tokens
from mining.errors import InputError

DIM, VOCABULARY, LANGUAGES = 6, 20, ("de", "en", "fr")
LEFT = [[1, 2, 2], [3], [4, 5, 6, 7]]
RIGHT = [[8, 9], [10, 10, 11], [12]]


def make_batch() -> Batch:
    return Batch(
        tokens=Tokens.from_lists(LEFT + RIGHT).batch(),
        example=torch.tensor([0, 1, 2, 0, 1, 2]),
        language=torch.tensor([1, 1, 1, 0, 2, 0]),
        text=torch.arange(6),
        meaning=torch.tensor([100, 101, 102, 100, 101, 102]),
        examples=3,
    )


def make_facts(embedding: nn.Parameter | None = None) -> EncoderFacts:
    return EncoderFacts(DIM, VOCABULARY, LANGUAGES, embedding)


def test_language_embeddings_begin_as_small_as_told() -> None:
    spread = {}
    for std in (1.0, 0.05):
        torch.manual_seed(0)
        head = Ems(EmsSettings(language_std=std), make_facts()).xtr
        assert head is not None and head.language is not None
        spread[std] = float(head.language.weight.std())
    assert spread[0.05] == pytest.approx(0.05 * spread[1.0])


def literal_kl(ems: Ems, u: torch.Tensor, language: int, target: list[int]) -> torch.Tensor:
    parts = [u] if ems.xtr.language is None else [ems.xtr.language.weight[language], u]
    hidden = ems.xtr.norm(nn.functional.silu(ems.xtr.connected(torch.cat(parts))))
    log_q = (ems.xtr.output @ hidden).log_softmax(0)
    p = {w: torch.tensor(target.count(w) / len(target)) for w in target}
    return sum(p[w] * (p[w].log() - log_q[w]) for w in p)


def literal_projection(ems: Ems, u: torch.Tensor) -> torch.Tensor:
    """W1 ReLU(W2 u + b2) + b1 for every row, equations 10 and 11."""
    if not ems.settings.projection_dim:
        return u
    w2, b2, w1, b1 = ems.projection.parameters()
    return torch.stack([w1 @ (w2 @ row + b2).clamp(min=0) + b1 for row in u])


def literal_joint(ems: Ems, vectors: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    u, v = vectors[:3], vectors[3:]
    xtr = sum(
        literal_kl(ems, u[i], int(batch.language[3 + i]), RIGHT[i])
        + literal_kl(ems, v[i], int(batch.language[i]), LEFT[i])
        for i in range(3)
    )
    h, g = literal_projection(ems, u), literal_projection(ems, v)
    sim = nn.functional.cosine_similarity(h[:, None], g[None], dim=2) / ems.settings.temperature
    contrastive = -(sim.log_softmax(1).diagonal() + sim.log_softmax(0).diagonal()).sum()
    return xtr / 3, contrastive / 3


@pytest.mark.parametrize("changes", [{}, {"contrastive": 2.0}, {"language_dim": 0}, {"projection_dim": 0}])
def test_joint_loss_is_equation_12(changes: dict[str, float]) -> None:
    torch.manual_seed(0)
    ems = Ems(EmsSettings(**changes), make_facts())
    vectors = torch.randn(6, DIM, requires_grad=True)
    xtr, contrastive = literal_joint(ems, vectors, make_batch())
    expected = xtr + ems.settings.contrastive * contrastive
    loss = ems.loss(vectors, make_batch(), 0.0)
    torch.testing.assert_close(loss.parts["xtr"], xtr.detach())
    torch.testing.assert_close(loss.parts["contrastive"], contrastive.detach())
    torch.testing.assert_close(  # the minimised loss differs by the entropy of the targets, which is constant
        torch.autograd.grad(loss.total, vectors)[0], torch.autograd.grad(expected, vectors)[0], atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize(
    ("changes", "parts"),
    [({"xtr": 0}, {"contrastive", "batch_p_at_1"}), ({"contrastive": 0}, {"xtr"})],
)
def test_a_left_out_loss_has_no_head(changes: dict[str, float], parts: set[str]) -> None:
    ems = Ems(EmsSettings(**changes), make_facts())
    assert set(ems.loss(torch.randn(6, DIM), make_batch(), 0.0).parts) == parts
    assert (ems.xtr is None) == ("xtr" in changes)
    assert (ems.projection is None) == ("contrastive" in changes)


def test_shared_embedding_gets_gradients_from_xtr() -> None:
    embedding = nn.Parameter(torch.randn(VOCABULARY, DIM))
    ems = Ems(EmsSettings(share_embedding=True), make_facts(embedding))
    ems.loss(torch.randn(6, DIM), make_batch(), 0.0).total.backward()
    assert embedding.grad is not None
    assert embedding.grad.abs().sum() > 0


def test_nothing_to_share_is_refused() -> None:
    with pytest.raises(InputError, match="no input embedding"):
        Ems(EmsSettings(share_embedding=True), make_facts())


def test_both_weights_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to learn"):
        EmsSettings(xtr=0, contrastive=0)


def test_some_pairs_estimate_all_pairs() -> None:
    torch.manual_seed(1)
    full, some = (Ems(EmsSettings(contrastive=0, xtr_pairs=n), make_facts()) for n in (0, 1))
    some.load_state_dict(full.state_dict())
    vectors = torch.randn(6, DIM)
    sampled = torch.stack([some.loss(vectors, make_batch(), 0.0).total for _ in range(400)]).mean()
    torch.testing.assert_close(sampled, full.loss(vectors, make_batch(), 0.0).total, rtol=0.05, atol=0)
