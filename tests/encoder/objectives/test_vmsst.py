"""VMSST's bound, decoder and baselines against literal implementations."""

import gc
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from encoder.objectives.objective import EncoderFacts
from encoder.objectives.vmsst import Vmsst, VmsstSettings, active_units
from encoder.objectives.vmsst_networks import Embeddings, Gaussian, TransformerDecoder
from encoder.objectives.vmsst_t5 import T5Decoder, T5Language
from encoder.tokens import Tokens
from mining.errors import InputError
from tests.encoder.fixtures import write_tiny_mt5
from tests.encoder.objectives.batches import DIM, FACTS, VOCABULARY, make_batch

SMALL: dict[str, Any] = {"heads": 2, "ffn": 16, "positions": 12}
PAIRS = [0, 1, 2, 0, 1, 2]


def make(**changes: Any) -> Vmsst:
    torch.manual_seed(0)
    return Vmsst(VmsstSettings(**(SMALL | changes)), FACTS)


def sentence(batch: Any, row: int) -> list[int]:
    return batch.tokens.ids[batch.tokens.offsets[row] : batch.tokens.offsets[row + 1]].tolist()


def literal_decoder(
    decoder: TransformerDecoder, embeddings: Embeddings, latent: Tensor, ids: list[int], language: int
) -> Tensor:
    """-log p(x | z), one sentence, position by position."""
    start = decoder.start.weight[language]
    rest = [embeddings.table[i] + embeddings.positions.weight[n + 1] for n, i in enumerate(ids)]
    x = decoder.norm(torch.stack([start, *rest]))
    for layer in decoder.layers:
        query, key, value = layer.attention.inputs(x).chunk(3, dim=1)
        heads = []
        for q, k, v in zip(*(part.chunk(layer.attention.heads, dim=1) for part in (query, key, value)), strict=True):
            scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf)
            heads.append(scores.softmax(1) @ v)
        x = layer.norms[0](x + layer.attention.output(torch.cat(heads, dim=1)))
        x = layer.norms[1](x + layer.condition(latent))
        x = layer.norms[2](x + layer.feed_forward(x))
    logits = torch.cat([x, latent.expand(len(x), -1)], dim=1) @ decoder.output.T
    return functional.cross_entropy(logits, torch.tensor([*ids, VOCABULARY]), reduction="sum")


@pytest.mark.parametrize(
    "changes",
    [
        {"factored": True},
        {"language_encoders": 2},
        {"one_encoder": True},
        {"encoder_language": False},
        {"decoder_language": False},
        {"kl": 0.0},
        {"decoders": 0, "language_encoders": 0},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_ablations_of_table_4_change_the_loss_and_train_all_they_have(changes: dict[str, Any]) -> None:
    batch, vectors = make_batch(PAIRS), torch.randn(6, DIM, requires_grad=True)
    plain, objective = make(), make(**changes)
    losses = []
    for each in (plain, objective):
        torch.manual_seed(1)
        losses.append(each.loss(vectors, batch, 0.5).total)
    assert losses[0] != losses[1]
    losses[1].backward()
    idle = {name for name, parameter in objective.named_parameters() if parameter.grad is None}
    assert not idle
    if "factored" in changes:
        assert isinstance(objective.decoder, TransformerDecoder) and objective.decoder.output.shape[1] == DIM


@pytest.mark.parametrize("start", [-5.0, 0.0])
def test_variances_begin_where_they_are_told_to(start: float) -> None:
    objective, batch = make(log_variance=start), make_batch(PAIRS)
    assert objective.language is not None
    small = 0.01 * torch.randn(6, DIM)  # as an encoder that begins as a bag makes them
    language = objective.language(batch.tokens, batch.language, objective.embeddings)
    for log_variance in (objective.log_variance(small), language.log_variance):
        assert abs(float(log_variance.mean()) - start) < 1


@pytest.mark.parametrize("changes", [{}, {"decoder_layers": 2}])
def test_translation_terms_decode_each_sentence_from_its_translation(changes: dict[str, Any]) -> None:
    objective, batch = make(elbo=0, **changes), make_batch(PAIRS)
    vectors = torch.randn(6, DIM, requires_grad=True)
    assert objective.decoder is not None
    expected = sum(
        literal_decoder(
            objective.decoder, objective.embeddings, vectors[other], sentence(batch, row), int(batch.language[row])
        )
        for row, other in enumerate([3, 4, 5, 0, 1, 2])
    )
    ours = objective.loss(vectors, batch, 0.0).total
    torch.testing.assert_close(ours, expected / 3, atol=1e-4, rtol=1e-4)
    weights = [vectors, objective.embeddings.table, objective.decoder.output]
    for got, want in zip(*(torch.autograd.grad(loss, weights) for loss in (ours, expected / 3)), strict=True):
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-3)


def test_elbo_is_reconstruction_and_annealed_kl() -> None:
    objective = make(translation=0, elbo=0.5, kl=0.4)
    batch, vectors, progress = make_batch(PAIRS), torch.randn(6, DIM), 0.25
    assert objective.decoder is not None and objective.language is not None
    torch.manual_seed(7)
    ours = objective.loss(vectors, batch, progress)
    torch.manual_seed(7)
    noise_meaning, noise_language = torch.randn(3, DIM), torch.randn(6, DIM)
    language = objective.language(batch.tokens, batch.language, objective.embeddings)
    total = torch.zeros(())
    for pair in range(3):
        side = pair + 3 * (pair % 2)  # alternating
        mean, log_variance = vectors[side], objective.log_variance(vectors[side])
        meaning = mean + (log_variance / 2).exp() * noise_meaning[pair]
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        for row in (pair, pair + 3):
            mu, s = language.mean[row], language.log_variance[row]
            kl = kl - 0.5 * (1 + s - mu**2 - s.exp()).sum()
            latent = torch.cat([meaning, mu + (s / 2).exp() * noise_language[row]])
            total = total + literal_decoder(
                objective.decoder, objective.embeddings, latent, sentence(batch, row), int(batch.language[row])
            )
        total = total + 0.4 * progress * kl
    torch.testing.assert_close(ours.total, 0.5 * total / 3, atol=1e-4, rtol=1e-4)
    assert set(ours.parts) >= {"kl_semantic", "kl_language", "active_semantic", "active_language"}


def test_contrastive_baseline_is_the_mean_of_both_directions_of_dot_products() -> None:
    objective, batch = make(translation=0, elbo=0, contrastive=1), make_batch(PAIRS)
    assert not list(objective.parameters())
    vectors = torch.randn(6, DIM, requires_grad=True)
    dots = vectors[:3] @ vectors[3:].T
    expected = -(dots.log_softmax(1).diagonal() + dots.log_softmax(0).diagonal()).mean() / 2
    ours = objective.loss(vectors, batch, 0.0).total
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, vectors)[0] for loss in (ours, expected)))


def test_weights_add_up() -> None:
    batch, vectors = make_batch(PAIRS), torch.randn(6, DIM)
    objective = make(translation=0.3, elbo=0.2, contrastive=2.0)
    loss = objective.loss(vectors, batch, 0.5)
    bound = loss.parts["reconstruction"] + 0.1 * 0.5 * (loss.parts["kl_semantic"] + loss.parts["kl_language"])
    expected = 0.3 * loss.parts["translation"] + 0.2 * bound + 2 * loss.parts["contrastive"]
    torch.testing.assert_close(loss.total.detach(), expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"decoder_layers": 3},
        {"kl": 0},
        {"elbo": 0},
        {"negatives": 5},
    ],
)
def test_every_ablation_trains_all_its_parameters(changes: dict[str, Any]) -> None:
    objective = make(**changes)
    objective.loss(torch.randn(6, DIM), make_batch(PAIRS), 0.5).total.backward()
    untouched = [name for name, weight in objective.named_parameters() if weight.grad is None]
    assert untouched == []


def test_chunks_of_sentences_change_nothing() -> None:
    whole, chunked = make(), make(chunk=2)
    batch, results = make_batch(PAIRS), []
    for objective in (whole, chunked):
        torch.manual_seed(3)
        vectors = torch.randn(6, DIM, requires_grad=True)
        loss = objective.loss(vectors, batch, 0.5).total
        results.append([loss, *torch.autograd.grad(loss, [vectors, *objective.parameters()])])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def vocabulary_sized() -> int:
    return sum(type(thing) is Tensor and thing.ndim == 2 and len(thing) >= VOCABULARY for thing in gc.get_objects())


def test_chunks_keep_no_gradient_of_the_vocabulary() -> None:
    """Each chunk makes one in its forward pass; kept until the backward pass, they would be as many as chunks."""
    objective, batch = make(chunk=1, elbo=0), make_batch(PAIRS)
    vectors = torch.randn(6, DIM, requires_grad=True)
    before = vocabulary_sized()
    loss = objective.loss(vectors, batch, 0.5).total
    assert vocabulary_sized() == before
    loss.backward()


def test_permuting_two_pairs_of_the_same_parity_changes_nothing() -> None:
    objective, batch, vectors = make(), make_batch(PAIRS), torch.randn(6, DIM)
    order = torch.tensor([2, 1, 0, 5, 4, 3])
    from encoder.batch import take_tokens

    columns = (column[order] for column in batch[2:5])
    permuted = type(batch)(take_tokens(batch.tokens, order), batch.example, *columns, batch.examples)
    parts = objective.loss(vectors, batch, 0.0).parts, objective.loss(vectors[order], permuted, 0.0).parts
    for name in ("translation", "kl_semantic", "kl_language"):
        torch.testing.assert_close(parts[0][name], parts[1][name], atol=1e-5, rtol=1e-4)


def test_padding_does_not_leak() -> None:
    """A longer sentence in the batch must not change the likelihood of a shorter one."""
    objective, batch = make(elbo=0), make_batch(PAIRS)
    vectors = torch.randn(6, DIM)
    assert objective.decoder is not None
    from encoder.batch import slice_tokens

    alone = [
        objective._decode_some(vectors[row : row + 1], slice_tokens(batch.tokens, row, row + 1), batch.language[[row]])
        for row in range(6)
    ]
    together = objective._decode_some(vectors, batch.tokens, batch.language)
    torch.testing.assert_close(together, torch.stack(alone).sum(), atol=1e-4, rtol=1e-4)


def test_kl_and_active_units() -> None:
    standard = Gaussian(torch.zeros(2, 3), torch.zeros(2, 3))
    assert standard.kl().tolist() == [0, 0]
    wide = Gaussian(torch.ones(1, 3), torch.full((1, 3), 0.5))
    normal = torch.distributions.Normal(torch.ones(3), torch.tensor(0.5).mul(0.5).exp())
    expected = torch.distributions.kl_divergence(normal, torch.distributions.Normal(torch.zeros(3), 1.0)).sum()
    torch.testing.assert_close(wide.kl()[0], expected)
    mean = torch.zeros(100, 4)
    mean[:, 0] = torch.linspace(-1, 1, 100)
    assert float(active_units(mean)) == 0.25


def test_collapse_is_warned_of() -> None:
    objective = make()
    message = objective.warning({"active_semantic": 0.01, "kl_semantic": 0.3})
    assert message is not None
    assert "posterior collapse" in message
    assert objective.warning({"active_semantic": 0.5, "kl_semantic": 20.0}) is None
    assert make(elbo=0).warning({"translation": 3.0}) is None


def test_the_encoders_table_is_shared() -> None:
    table = nn.Parameter(torch.randn(VOCABULARY, DIM))
    objective = Vmsst(VmsstSettings(**SMALL), FACTS._replace(embedding=table))
    objective.loss(torch.randn(6, DIM), make_batch(PAIRS), 0.5).total.backward()
    assert table.grad is not None
    assert table.grad.abs().sum() > 0


def test_nothing_to_learn_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to learn"):
        VmsstSettings(translation=0, elbo=0)


def test_networks_of_mt5_see_neither_padding_nor_the_future(tmp_path: Path) -> None:
    """A batch is its sentences one by one; all networks share the encoder's table, and begin with its weights."""
    from encoder.models import Pretrained, PretrainedSettings

    encoder = Pretrained.load(PretrainedSettings(source=str(write_tiny_mt5(tmp_path)), pooling="mean", dropout=0))
    table = encoder.backbone.get_input_embeddings().weight
    facts = EncoderFacts(encoder.dim, len(encoder.text.tokenizer), ("en", "de"), table, pretrained=encoder)
    objective = Vmsst(VmsstSettings(networks="pretrained", decoder_layers=2), facts)
    decoder, network = objective.decoder, objective.language
    assert isinstance(decoder, T5Decoder) and isinstance(network, T5Language)
    assert objective.embeddings.table is table
    assert torch.equal(network.stack.block[0].layer[0].SelfAttention.q.weight, _query(encoder.backbone))
    sentences = [[5, 6, 7, 8], [9], [10, 11, 5]]
    latent, language = torch.randn(3, 2 * encoder.dim), torch.tensor([0, 1, 0])
    tokens = [Tokens.from_lists([sentence]).batch() for sentence in sentences]
    together = Tokens.from_lists(sentences).batch()
    with torch.no_grad():
        whole = decoder(latent, together, language, objective.embeddings, 0)
        parts = [decoder(latent[[i]], tokens[i], language[[i]], objective.embeddings, 0) for i in range(3)]
        torch.testing.assert_close(whole, torch.stack(parts).sum(), atol=1e-3, rtol=1e-4)
        means = network(together, language, objective.embeddings).mean
        apart = [network(tokens[i], language[[i]], objective.embeddings).mean for i in range(3)]
        torch.testing.assert_close(means, torch.cat(apart), atol=1e-5, rtol=1e-4)
        states = [
            decoder.states(torch.stack([x, x * 2, end]), torch.tensor([3]), latent[:1])
            for x, end in ((torch.ones(encoder.dim), torch.zeros(encoder.dim)), (torch.ones(encoder.dim),) * 2)
        ]
    torch.testing.assert_close(states[0][:2], states[1][:2])
    assert not torch.allclose(states[0][2], states[1][2])


def test_networks_that_begin_at_random_begin_apart(tmp_path: Path) -> None:
    from encoder.models import Pretrained, PretrainedSettings

    encoder = Pretrained.load(PretrainedSettings(source=str(write_tiny_mt5(tmp_path)), pooling="mean", weights=False))
    table = encoder.backbone.get_input_embeddings().weight
    facts = EncoderFacts(encoder.dim, len(encoder.text.tokenizer), ("en", "de"), table, pretrained=encoder)
    objective = Vmsst(VmsstSettings(networks="pretrained", decoder_layers=2), facts)
    own, other = _query(objective.language.stack), _query(encoder.backbone)  # type: ignore[union-attr,arg-type]
    assert own.shape == other.shape and own.std() > 0
    assert (own == other).float().mean() < 0.01
    assert objective.embeddings.table is table


@pytest.mark.parametrize("weights", [True, False], ids=["pretrained", "scratch"])
def test_a_decoder_of_mt5_begins_with_its_output_or_near_evenness(tmp_path: Path, weights: bool) -> None:
    """From random weights of transformers, of std 1, it would begin ten times as far from the truth as evenness."""
    from encoder.models import Pretrained, PretrainedSettings

    source = str(write_tiny_mt5(tmp_path))
    encoder = Pretrained.load(PretrainedSettings(source=source, pooling="mean", dropout=0, weights=weights))
    table = encoder.backbone.get_input_embeddings().weight
    facts = EncoderFacts(encoder.dim, len(encoder.text.tokenizer), ("en", "de"), table, pretrained=encoder)
    objective = Vmsst(VmsstSettings(networks="pretrained", decoder_layers=2), facts)
    decoder = objective.decoder
    assert isinstance(decoder, T5Decoder)
    if weights:
        assert torch.equal(decoder.output[:-1, : encoder.dim], encoder.whole().lm_head.weight)
        return
    tokens = Tokens.from_lists([[5, 6, 7, 8], [9, 10, 11, 12]]).batch()
    with torch.no_grad():
        nats = decoder(torch.zeros(2, 2 * encoder.dim), tokens, torch.tensor([0, 1]), objective.embeddings, 0) / 10
    assert nats < 1.5 * math.log(facts.vocabulary)


def test_outputs_of_the_first_t5_are_scaled() -> None:
    """It multiplies states by width^-0.5 before its output matrix, mT5 and T5 1.1 do not."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 20, "d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    for tied, factor in ((True, 0.25), (False, 1.0)):
        source = T5ForConditionalGeneration(T5Config(**sizes, tie_word_embeddings=tied))
        decoder = T5Decoder(source, 1, 20, 8, 2)
        torch.testing.assert_close(decoder.output[:20, :16], factor * source.lm_head.weight)


def _query(stack: nn.Module) -> Tensor:
    return stack.block[0].layer[0].SelfAttention.q.weight  # type: ignore[union-attr,index,return-value]


def test_only_t5_brings_a_decoder() -> None:
    with pytest.raises(InputError, match="needs a T5 or mT5 as encoder"):
        make(networks="pretrained")
