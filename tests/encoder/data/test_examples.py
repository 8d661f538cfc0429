"""Batches of each shape: anchors, positives, hard negatives, drawn from the right groups and never held out."""

from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from encoder.batch import DataShape
from encoder.data.corpora import AssemblySettings
from encoder.data.examples import build_examples, draw_members
from encoder.data.heldout import hold_out
from encoder.data.sampling import BatchSettings, Sampler, mixture
from encoder.data.store import Store, StoreWriter, TokenBlock
from encoder.tokens import Tokens
from mining.errors import InputError

LANGUAGES = ("en", "de", "fr")


def make_store(folder: Path, sizes: list[int], triples: bool = False) -> Store:
    """Group g has the sentences [1000 g + n] in languages n; triples are groups (0, 1, 2), (3, 4, 5), ..."""
    writer = StoreWriter(folder, "english")
    tokens = Tokens.from_lists([[1000 * g + n] for g, size in enumerate(sizes) for n in range(size)])
    languages = np.array([n for size in sizes for n in range(size)], np.int16)
    rows = np.arange(len(sizes) // 3 * 3).reshape(-1, 3) if triples else np.zeros((0, 3), np.int64)
    writer.add(0, TokenBlock(tokens, LANGUAGES, languages, np.array(sizes), rows))
    writer.finish({})
    return Store(folder)


def tokens_of(batch) -> list[int]:  # type: ignore[no-untyped-def]
    return batch.tokens.ids.tolist()


def test_triples_have_three_columns_of_any_language(tmp_path: Path) -> None:
    store = make_store(tmp_path, [3, 2, 1] * 4, triples=True)
    examples = build_examples("triples", store)
    seen = set()
    for seed in range(10):
        batch = examples.batch(examples.sources[0].rows[[2, 0]], 50, np.random.default_rng(seed))
        groups = [token // 1000 for token in tokens_of(batch)]
        assert groups == [6, 0, 7, 1, 8, 2]
        assert batch.example.tolist() == [0, 1] * 3
        assert (batch.sentences, batch.examples) == (6, 2)
        seen.update(token % 1000 for token in tokens_of(batch)[:2])
    assert seen == {0, 1, 2}


def test_triples_with_several_positives(tmp_path: Path) -> None:
    store = make_store(tmp_path, [3, 3, 1, 1, 2, 1], triples=True)
    examples = build_examples("triples", store, positives=5)
    batch = examples.batch(examples.sources[0].rows, 50, np.random.default_rng(0))
    assert batch.example.tolist() == [0, 1, 0, 0, 0, 1, 1, 0, 1]
    assert sorted(tokens_of(batch)[2:7]) == [1000, 1001, 1002, 4000, 4001]


@pytest.mark.parametrize("positives", [1, 2, 5])
def test_groups_put_one_anchor_each_first(tmp_path: Path, positives: int) -> None:
    store = make_store(tmp_path, [2, 3, 1, 3])
    examples = build_examples("groups", store, positives=positives)
    assert examples.sources[0].rows[:, 0].tolist() == [0, 1, 3]  # a single sentence is no group
    anchors = set()
    for seed in range(20):
        batch = examples.batch(examples.sources[0].rows, 50, np.random.default_rng(seed))
        tokens = tokens_of(batch)
        assert batch.example[:3].tolist() == [0, 1, 2]
        assert [(0, 1, 3)[e] for e in batch.example.tolist()] == [token // 1000 for token in tokens]
        assert len(set(tokens)) == len(tokens) == sum(min(size, 1 + positives) for size in (2, 3, 3))
        anchors.add(tokens[1])
    assert anchors == {1000, 1001, 1002}


def test_groups_below_the_least_are_left_out(tmp_path: Path) -> None:
    store = make_store(tmp_path, [2, 3, 3])
    assert build_examples("groups", store, least=3).sources[0].rows[:, 0].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"has 3 sentences: set objective\.least below 4"):
        build_examples("groups", store, least=4)


def test_single_sentences_of_some_languages(tmp_path: Path) -> None:
    store = make_store(tmp_path, [2, 3, 1])
    examples = build_examples("monolingual", store, languages=("de",))
    batch = examples.batch(examples.sources[0].rows, 50, np.random.default_rng(0))
    assert tokens_of(batch) == [1, 1001]
    assert batch.meaning.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "sizes", "message"),
    [
        ("triples", [2, 2], "learns from triples.*format: nli"),
        ("groups", [2, 2], "three or more translations.*data.assemble"),
        ("pairs", [1, 1], "learns from translations"),
    ],
)
def test_a_mismatch_is_one_sentence(tmp_path: Path, shape: DataShape, sizes: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_examples(shape, make_store(tmp_path, sizes))


def test_unknown_languages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sentence of `data` is in it"):
        build_examples("monolingual", make_store(tmp_path, [2]), languages=("it",))


@pytest.mark.parametrize("shape", ["groups", "monolingual", "triples"])
@pytest.mark.parametrize("assembly", [None, AssemblySettings()])
@pytest.mark.parametrize("hard", [None, "lexical"])
def test_what_is_held_out_is_never_drawn(
    tmp_path: Path, shape: DataShape, assembly: AssemblySettings | None, hard: Literal["lexical"] | None
) -> None:
    store = make_store(tmp_path, [3] * 300, triples=True)
    examples = build_examples(shape, store, assembly=assembly)
    held_out = hold_out(store, 20)
    forbidden = set(held_out.texts.tolist())
    assert len(forbidden) > 20
    settings = BatchSettings(pairs=16, homogeneous=hard is not None, hard_negatives=hard)
    sampler = Sampler(store, examples, held_out, mixture(examples.sources, [1.0], 1.0), settings, 3, processes=3)
    for drawn in islice(sampler.batches(sampler.start()), 30):
        batch = examples.batch(drawn.rows, 50, np.random.default_rng(0))
        assert not forbidden & set(batch.text.tolist())
        assert len(drawn.rows) % 3 == 0


def test_members_are_drawn_without_replacement_and_evenly() -> None:
    first, last = np.array([0, 10]), np.array([4, 11])
    rng = np.random.default_rng(0)
    counts = np.zeros(11)
    for _ in range(2000):
        places, of = draw_members(first, last, 2, rng)
        assert of.tolist() == [0, 0, 1]
        assert len(set(places.tolist())) == 3
        counts[places] += 1
    np.testing.assert_allclose(counts[:4] / 2000, 0.5, atol=0.05)
    assert counts[10] == 2000
