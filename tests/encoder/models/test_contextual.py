"""A bag with context: against a loop over sentences and words, and as the bag that it begins as."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch.nn import functional

from encoder.models import Bag, BagSettings, ContextualBag, ContextualSettings
from encoder.tokens import TokenBatch, Tokens
from tests.encoder.models.words import words_of

BATCHES = st.lists(st.lists(st.integers(0, 19), max_size=9), max_size=8)
STARTS = torch.arange(20) % 3 == 0
BAG = BagSettings(dim=8, bigrams=7, words=11)


def contextual(trained: bool = True, **changes: int) -> ContextualBag:
    torch.manual_seed(0)
    settings = ContextualSettings(bag=BAG, **{"width": 6, "heads": 2, "hidden": 10, "distance": 2, **changes})
    model = ContextualBag(settings, 20, STARTS)
    if trained:
        torch.nn.init.normal_(model.context.output.weight)
        torch.nn.init.normal_(model.context.bias)
    return model


def batch_of(*sentences: list[int]) -> TokenBatch:
    return Tokens.from_lists(sentences).batch()


def by_loop(model: ContextualBag, ids: list[int]) -> torch.Tensor:
    """The formulas of the module, a word at a time."""
    context, settings = model.context, model.settings
    vector = model.bag(batch_of(ids))[0]
    words = words_of(ids, STARTS)
    if not words:
        return vector
    states = [context.norm(context.inputs(model.bag(batch_of(word))[0])) for word in words]
    size = settings.width // settings.heads
    total = torch.zeros(settings.hidden)
    for i, state in enumerate(states):
        mixed = []
        for head in range(settings.heads):
            part = slice(head * size, (head + 1) * size)
            query, keys, values = (
                context.attention(state).split(settings.width)[0][part],
                [context.attention(other).split(settings.width)[1][part] for other in states],
                [context.attention(other).split(settings.width)[2][part] for other in states],
            )
            far = settings.distance
            places = [max(-far, min(far, j - i)) + far for j in range(len(states))]
            scores = torch.stack(
                [query @ key / size**0.5 + context.bias[head, place] for key, place in zip(keys, places, strict=True)]
            )
            mixed.append(torch.softmax(scores, 0) @ torch.stack(values))
        total = total + functional.silu(context.own(state) + context.mixed(torch.cat(mixed)))
    return vector + context.output(total / len(states))


@given(BATCHES)
def test_a_batch_is_the_formulas_word_by_word(sentences: list[list[int]]) -> None:
    model = contextual()
    vectors = model(batch_of(*sentences))
    assert vectors.shape == (len(sentences), 8)
    for vector, ids in zip(vectors, sentences, strict=True):
        torch.testing.assert_close(vector, by_loop(model, ids), atol=1e-5, rtol=1e-4)


@given(BATCHES)
def test_it_begins_as_its_bag(sentences: list[list[int]]) -> None:
    model = contextual(trained=False)
    torch.testing.assert_close(model(batch_of(*sentences)), model.bag(batch_of(*sentences)), atol=0, rtol=0)


def test_the_order_of_distant_words_matters() -> None:
    model, words = contextual(), [[0, 1], [3, 4], [6, 7], [9, 10], [12, 13]]
    there = [token for place in (0, 1, 2, 3, 4) for token in words[place]]
    swapped = [token for place in (0, 1, 4, 3, 2) for token in words[place]]
    first, second = model(batch_of(there, swapped))
    assert not torch.allclose(first, second, atol=1e-3)


def test_tables_learn_through_the_mean_alone() -> None:
    """What the context adds gives them no gradient: it is that of the bag."""
    gradients = []
    for trained in (False, True):
        model = contextual(trained)
        model(batch_of([0, 1, 3, 4], [6, 7, 9])).sum().backward()
        gradients.append([parameter.grad for parameter in model.bag.parameters()])
        assert (model.context.inputs.weight.grad.abs().sum() > 0) == trained
    for bag, with_context in zip(*gradients, strict=True):
        torch.testing.assert_close(bag, with_context)


def test_batches_do_not_change_vectors() -> None:
    """Bit for bit: by thousands of sentences, by some, and alone."""
    draw = np.random.default_rng(0)
    torch.manual_seed(0)
    settings = ContextualSettings(bag=BagSettings(dim=96, bigrams=50, words=50), width=64, hidden=128)
    model = ContextualBag(settings, 20, STARTS).eval()
    torch.nn.init.normal_(model.context.output.weight)
    sentences = [draw.integers(0, 20, draw.integers(0, 30)).tolist() for _ in range(300)]
    with torch.inference_mode():
        together = model(batch_of(*sentences))
        for start, stop in [*pairwise(range(0, 301, 50)), (0, 1), (7, 8), (123, 124)]:
            part = model(batch_of(*sentences[start:stop]))
            np.testing.assert_array_equal(part.numpy(), together[start:stop].numpy())


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="width 6 is not a multiple of heads 4"):
        ContextualSettings(width=6, heads=4)
    with pytest.raises(ValidationError, match="does not know where words begin"):
        ContextualSettings(bag=BagSettings(bigrams=5))
    assert isinstance(contextual().bag, Bag)
