"""The compiled features of a bag are those of torch, in the same order."""

import pytest
import torch

from encoder.models import bag, spelling
from encoder.tokens import TokenBatch

VOCABULARY, BUCKETS = 50, 1009


@pytest.fixture(params=range(4))
def batch(request: pytest.FixtureRequest) -> TokenBatch:
    draw = torch.Generator().manual_seed(request.param)
    lengths = torch.randint(0, 90, (30,), generator=draw) * (torch.rand(30, generator=draw) > 0.2)
    ids = torch.randint(0, VOCABULARY, (int(lengths.sum()),), generator=draw)
    return TokenBatch(ids, torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]))


@pytest.fixture
def word_starts() -> torch.Tensor:
    return torch.rand(VOCABULARY, generator=torch.Generator().manual_seed(1)) < 0.3


@pytest.fixture
def spellings() -> torch.Tensor:
    draw = torch.Generator().manual_seed(2)
    letters = torch.randint(97, 123, (VOCABULARY, spelling.WIDTH), generator=draw)
    written = torch.arange(spelling.WIDTH) < torch.randint(0, spelling.WIDTH + 1, (VOCABULARY, 1), generator=draw)
    return (letters * written).to(torch.uint8)


def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (bag, spelling):
        monkeypatch.setattr(module, "on_cpu", lambda batch: False)


def same(found: TokenBatch, expected: TokenBatch) -> None:
    assert torch.equal(found.ids, expected.ids)
    assert torch.equal(found.offsets, expected.offsets)


def test_pairs_and_words(batch: TokenBatch, word_starts: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [bag.bigram_buckets(batch, BUCKETS), bag.word_buckets(batch, word_starts, BUCKETS)]
    without_kernels(monkeypatch)
    same(found[0], bag.bigram_buckets(batch, BUCKETS))
    same(found[1], bag.word_buckets(batch, word_starts, BUCKETS))
    assert len(found[1].ids)


def test_spelled_words(
    batch: TokenBatch, word_starts: torch.Tensor, spellings: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Different words have another order, but each word of a sentence the same tokens and n-grams."""
    words, occurrences = spelling.different_words(batch, word_starts)
    grams = spelling.ngrams(words, spellings, BUCKETS)
    without_kernels(monkeypatch)
    expected_words, expected = spelling.different_words(batch, word_starts)
    expected_grams = spelling.ngrams(expected_words, spellings, BUCKETS)
    assert torch.equal(occurrences.offsets, expected.offsets)
    assert len(words.offsets) == len(expected_words.offsets) < len(occurrences.ids)
    for mine, others in ((words, expected_words), (grams, expected_grams)):
        for which, other in zip(occurrences.ids.tolist(), expected.ids.tolist(), strict=True):
            assert row(mine, which) == row(others, other)


def row(batch: TokenBatch, number: int) -> list[int]:
    return batch.ids[batch.offsets[number] : batch.offsets[number + 1]].tolist()


def test_no_tokens(word_starts: torch.Tensor) -> None:
    empty = TokenBatch(torch.zeros(0, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))
    for found in (bag.bigram_buckets(empty, BUCKETS), bag.word_buckets(empty, word_starts, BUCKETS)):
        assert found.ids.tolist() == []
        assert found.offsets.tolist() == [0, 0, 0]
