"""Networks among which languages are divided: each sentence has that of its language, in any order."""

from pathlib import Path
from typing import Any

import pytest
import torch

from encoder.objectives.objective import EncoderFacts
from encoder.objectives.vmsst import Vmsst, VmsstSettings
from encoder.objectives.vmsst_divided import DividedDecoder, DividedLanguage
from mining.errors import InputError
from tests.encoder.fixtures import write_tiny_mt5
from tests.encoder.objectives.batches import DIM, FACTS, make_batch

PAIRS = [0, 1, 2, 0, 1, 2]


def make(**changes: Any) -> Vmsst:
    torch.manual_seed(0)
    return Vmsst(VmsstSettings(**({"heads": 2, "ffn": 16, "positions": 12} | changes)), FACTS)


@pytest.mark.parametrize(("wanted", "networks", "most"), [(0, 3, 1), (3, 3, 1), (2, 2, 2)])
def test_languages_are_divided_evenly(wanted: int, networks: int, most: int) -> None:
    objective = make(language_encoders=wanted, decoders=wanted)
    for divided in (objective.language, objective.decoder):
        assert isinstance(divided, DividedLanguage | DividedDecoder)
        assert len(divided.networks) == networks
        assert divided.owner.bincount().max() == most


@pytest.mark.parametrize("told", [True, False])
def test_each_sentence_has_the_networks_of_its_language(told: bool) -> None:
    objective = make(language_encoders=2, decoders=0, encoder_language=told, decoder_language=told)
    batch, latent = make_batch(PAIRS), torch.randn(6, 2 * DIM)
    language, decoder = objective.language, objective.decoder
    assert isinstance(language, DividedLanguage) and isinstance(decoder, DividedDecoder)
    together = language(batch.tokens, batch.language, objective.embeddings)
    whole, alone = decoder(latent, batch.tokens, batch.language, objective.embeddings, 0), []
    from encoder.batch import slice_tokens

    for row in range(6):
        tokens, own = slice_tokens(batch.tokens, row, row + 1), batch.language[[row]]
        network = language.networks[int(language.owner[own])]
        one = network(tokens, own, objective.embeddings)
        torch.testing.assert_close(together.mean[[row]], one.mean)
        torch.testing.assert_close(together.log_variance[[row]], one.log_variance)
        network = decoder.networks[int(decoder.owner[own])]
        alone.append(network(latent[[row]], tokens, own, objective.embeddings, 0))
    torch.testing.assert_close(whole, torch.stack(alone).sum())


def test_only_the_networks_of_the_batch_learn() -> None:
    objective, batch = make(language_encoders=0, decoders=0), make_batch(PAIRS)
    batch = batch._replace(language=torch.tensor([0, 0, 0, 2, 2, 2]))
    objective.loss(torch.randn(6, DIM), batch, 0.5).total.backward()
    for divided in (objective.language, objective.decoder):
        assert isinstance(divided, DividedLanguage | DividedDecoder)
        for owner, network in enumerate(divided.networks):
            learns = all(parameter.grad is not None for parameter in network.parameters())
            assert learns == (owner != int(divided.owner[1]))


def test_networks_of_mt5_are_divided_too(tmp_path: Path) -> None:
    """With random weights each begins with its own."""
    from encoder.models import Pretrained, PretrainedSettings

    source = PretrainedSettings(source=str(write_tiny_mt5(tmp_path)), pooling="mean", weights=False)
    encoder = Pretrained.load(source)
    table = encoder.backbone.get_input_embeddings().weight
    facts = EncoderFacts(encoder.dim, len(encoder.text.tokenizer), ("en", "de", "fr"), table, pretrained=encoder)
    objective = Vmsst(VmsstSettings(networks="pretrained", language_encoders=0, decoders=2), facts)
    assert isinstance(objective.language, DividedLanguage)
    first, second, _ = (dict(network.named_parameters()) for network in objective.language.networks)
    name = next(name for name in first if name.endswith("SelfAttention.q.weight"))
    assert not torch.equal(first[name], second[name])
    batch = make_batch(PAIRS)
    batch = batch._replace(tokens=batch.tokens._replace(ids=batch.tokens.ids % len(encoder.text.tokenizer)))
    assert objective.loss(torch.randn(6, encoder.dim), batch, 0.5).total.isfinite()


def test_more_networks_than_languages_are_refused() -> None:
    with pytest.raises(InputError, match="4 networks for 3 languages"):
        make(decoders=4)


def test_one_encoder_has_no_language_encoders() -> None:
    with pytest.raises(ValueError, match="choose one of the two"):
        VmsstSettings(one_encoder=True, language_encoders=4)
