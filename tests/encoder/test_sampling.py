import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.sampling import balanced_sample, reservoir, shares


def test_reservoir_draws_uniformly() -> None:
    rng = random.Random(1)
    drawn = Counter(item for _ in range(4000) for item in reservoir(map(str, range(20)), 5, rng)[0])
    assert len(drawn) == 20
    assert all(850 < count < 1150 for count in drawn.values())  # 1,000 expected, deviation 27


@given(st.integers(0, 60), st.integers(1, 40), st.integers(0, 5))
def test_reservoir_draws_without_repeats_and_counts(total: int, size: int, seed: int) -> None:
    drawn, count = reservoir(map(str, range(total)), size, random.Random(seed))
    assert count == total
    assert len(drawn) == len(set(drawn)) == min(total, size)


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, {"a": 900, "b": 100}), (2.0, {"a": 750, "b": 250}), (1e9, {"a": 500, "b": 500})]
)
def test_shares(temperature: float, expected: dict[str, int]) -> None:
    got = shares({"a": 9000, "b": 1000}, 1000, temperature)
    assert all(abs(got[lang] - expected[lang]) <= 1 for lang in expected)


def corpus() -> dict[str, list[str]]:
    return {lang: [f"{lang}{i}" for i in range(n)] for lang, n in {"aa": 9000, "bb": 1000, "cc": 3, "dd": 0}.items()}


def test_small_languages_count_for_more() -> None:
    counts = Counter(sentence[:2] for sentence in balanced_sample(corpus(), 1000, 2.0, 0))
    assert 735 <= counts["aa"] <= 745
    assert 240 <= counts["bb"] <= 250
    assert counts["cc"] >= 10  # repeated: it has three sentences
    assert counts["dd"] == 0


def test_same_seed_same_sample() -> None:
    backwards = dict(reversed(corpus().items()))
    assert balanced_sample(corpus(), 500, 2.0, 7) == balanced_sample(backwards, 500, 2.0, 7)
    assert balanced_sample(corpus(), 500, 2.0, 7) != balanced_sample(corpus(), 500, 2.0, 8)


def test_whole_corpus_when_it_is_small_and_unflattened() -> None:
    sentences = {"aa": ["x", "y"], "bb": ["z"]}
    assert sorted(balanced_sample(sentences, 100, 1.0, 0)) == ["x", "y", "z"]
