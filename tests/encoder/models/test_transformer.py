"""The transformer: ragged batches give what single sentences give, and zero_init starts as a bag."""

import pytest
import torch
from pydantic import ValidationError

from encoder.models import Bag, BagSettings, Transformer, TransformerSettings
from encoder.tokens import Tokens
from mining.errors import InputError

SENTENCES = [[1, 2, 3], [], [5], [6, 7, 8, 9], [1, 2, 3]]


def tiny(**changes: object) -> Transformer:
    torch.manual_seed(0)
    return Transformer(
        TransformerSettings.model_validate({"dim": 16, "layers": 2, "heads": 2, "ffn": 32} | changes), 50
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_batch_gives_what_its_sentences_give_alone(norm: str, pooling: str) -> None:
    model = tiny(norm=norm, pooling=pooling).eval()
    together = model(Tokens.from_lists(SENTENCES).batch())
    for vector, ids in zip(together, SENTENCES, strict=True):
        torch.testing.assert_close(vector, model(Tokens.from_lists([ids]).batch())[0])
    assert not together[1].any() and together[0].any()


def test_order_of_tokens_matters() -> None:
    first, second = tiny().eval()(Tokens.from_lists([[1, 2, 3], [3, 2, 1]]).batch())
    assert not torch.allclose(first, second)


def test_zero_init_is_the_bag_it_grows_from_and_learns() -> None:
    bag = Bag(BagSettings(dim=16), 50)
    model = tiny(norm="pre", zero_init=True, dropout=0.0)
    model.grow_from(bag)
    batch = Tokens.from_lists(SENTENCES).batch()
    torch.testing.assert_close(model(batch), bag(batch))
    model.grow_from(bag, scale=3.0)
    torch.testing.assert_close(model(batch), 3 * bag(batch))
    model(batch).square().sum().backward()
    assert all(block.attention.output.weight.grad.any() for block in model.layers)


def test_zero_init_post_norm_is_the_bag_of_normalised_embeddings() -> None:
    model = tiny(zero_init=True).eval()
    expected = model.norm(model.tokens.weight[[1, 2, 3]]).mean(0)
    torch.testing.assert_close(model(Tokens.from_lists([[1, 2, 3]]).batch())[0], expected, atol=1e-3, rtol=1e-3)


def test_gradients_are_finite_with_an_empty_sentence_in_the_batch() -> None:
    model = tiny()
    model(Tokens.from_lists(SENTENCES).batch()).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


def test_presets_fill_what_is_not_given() -> None:
    ems = TransformerSettings(preset="ems")
    assert (ems.dim, ems.layers, ems.heads, ems.ffn) == (1024, 6, 16, 4096)
    assert TransformerSettings(preset="tiny", layers=1).layers == 1
    assert TransformerSettings.model_validate(ems.model_dump()) == ems


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValidationError, match="multiple of heads"):
        TransformerSettings(dim=10, heads=3)
    with pytest.raises(InputError, match="longer than the 3 positions"):
        tiny(positions=3)(Tokens.from_lists([[1, 2, 3, 4]]).batch())
    with pytest.raises(InputError, match="cannot grow"):
        tiny().grow_from(Bag(BagSettings(dim=8), 50))
    with pytest.raises(InputError, match="bigrams or words"):
        tiny().grow_from(Bag(BagSettings(dim=16, bigrams=8), 50))
