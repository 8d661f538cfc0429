"""The sample that SentencePiece is trained on."""

from collections import Counter

import pytest

from encoder.data.parallel_rows import Group
from encoder.data.preparation import TextBlock
from encoder.data.vocabulary import sample_texts, shares
from encoder.subword import SubwordSettings


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, {"a": 900, "b": 100}), (2.0, {"a": 750, "b": 250}), (1e9, {"a": 500, "b": 500})]
)
def test_shares(temperature: float, expected: dict[str, int]) -> None:
    got = shares({"a": 9000, "b": 1000}, 1000, temperature)
    assert all(abs(got[lang] - expected[lang]) <= 1 for lang in expected)


def sample(most: int, temperature: float, seed: int) -> dict[str, list[str]]:
    corpus = [f"{lang}{i}" for lang, size in {"aa": 9000, "bb": 1000, "cc": 3}.items() for i in range(size)]
    groups = [Group((text[:2],), (text,)) for text in corpus]
    blocks = [TextBlock(0, groups[start : start + 500], []) for start in range(0, len(groups), 500)]
    return sample_texts(blocks, SubwordSettings(sample_sentences=most, temperature=temperature, random_seed=seed))


def test_small_languages_count_for_more() -> None:
    counts = Counter({lang: len(texts) for lang, texts in sample(1000, 2.0, 0).items()})
    assert 735 <= counts["aa"] <= 745
    assert 240 <= counts["bb"] <= 250
    assert counts["cc"] >= 10  # repeated: it has three sentences


def test_the_random_seed_decides_the_sample() -> None:
    assert sample(500, 2.0, 7) == sample(500, 2.0, 7) != sample(500, 2.0, 8)
    assert sum(map(len, sample(20_000, 1.0, 0).values())) == 10_003
