"""Permutations, mixtures, batches: complete, resumable, within their limits."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.data.batches import prefetch
from encoder.data.examples import PairExamples, pair_batch
from encoder.data.heldout import hold_out
from encoder.data.permutation import permute
from encoder.data.sampling import BatchSettings, Drawn, Sampler, mixture
from encoder.data.store import Store, StoreWriter, TokenBlock, group_pairs, text_hashes
from encoder.tokens import Tokens
from mining.errors import InputError


def make_store(folder: Path, sizes: dict[str, int], vocabulary: int = 10_000) -> Store:
    """Pairs of English with each language, every sentence different and 1 to 19 tokens long."""
    rng = np.random.default_rng(0)
    writer = StoreWriter(folder, "english")
    for corpus, (lang, count) in enumerate(sizes.items()):
        lists = [rng.integers(0, vocabulary, rng.integers(1, 20)).tolist() for _ in range(2 * count)]
        languages = np.tile(np.array([0, 1], np.int16), count)
        writer.add(corpus, TokenBlock(Tokens.from_lists(lists), ("en", lang), languages, np.full(count, 2)))
    writer.finish({})
    return Store(folder)


def make_sampler(store: Store, *, held_out: int = 0, processes: int = 1, **settings: object) -> Sampler:
    examples = PairExamples(store)
    probabilities = mixture(examples.sources, [1.0] * 10, 1.0)
    return Sampler(store, examples, hold_out(store, held_out), probabilities, BatchSettings(**settings), 7, processes)


@given(st.integers(1, 3000), st.integers(0, 2**64))
def test_permute_is_a_permutation(size: int, key: int) -> None:
    assert sorted(permute(np.arange(size), size, key)) == list(range(size))


def test_permute_shuffles() -> None:
    order = permute(np.arange(10_000), 10_000, 3)
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05
    assert (order != permute(np.arange(10_000), 10_000, 4)).mean() > 0.99


def test_temperature_flattens_language_pairs(tmp_path: Path) -> None:
    sources = PairExamples(make_store(tmp_path, {"de": 400, "fr": 100})).sources
    np.testing.assert_allclose(mixture(sources, [1, 1], 1), [0.8, 0.2])
    np.testing.assert_allclose(mixture(sources, [1, 1], 2), [2 / 3, 1 / 3])
    np.testing.assert_allclose(mixture(sources, [1, 4], 1), [0.5, 0.5])


@pytest.mark.parametrize(("per_process", "size"), [(False, 32), (True, 64)])
def test_a_batch_is_of_all_processes_or_of_each(tmp_path: Path, per_process: bool, size: int) -> None:
    sampler = make_sampler(make_store(tmp_path, {"de": 256}), processes=2, pairs=32, per_process=per_process)
    assert len(next(sampler.batches(sampler.start())).rows) == size


def test_one_epoch_sees_every_pair_once(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 256})
    drawn = list(islice(make_sampler(store, pairs=64).batches(make_sampler(store).start()), 8))
    for epoch in (drawn[:4], drawn[4:]):
        assert sorted(np.concatenate([batch.rows for batch in epoch])[:, 2]) == list(range(256))
    assert not np.array_equal(drawn[0].rows, drawn[4].rows)


@pytest.mark.parametrize(
    "settings",
    [
        {"pairs": 50},
        {"pairs": 50, "tokens": 600},
        {"pairs": 50, "bucket": True},
        {"pairs": 50, "homogeneous": True},
        {"pairs": 50, "homogeneous": True, "hard_negatives": "lexical"},
    ],
)
def test_resuming_anywhere_gives_the_same_batches(tmp_path: Path, settings: dict[str, object]) -> None:
    store = make_store(tmp_path, {"de": 700, "fr": 300})
    sampler = make_sampler(store, held_out=40, **settings)
    whole = list(islice(sampler.batches(sampler.start()), 60))
    for stop in (1, 17, 45):
        rest: list[Drawn] = list(islice(sampler.batches(whole[stop - 1].after), 60 - stop))
        for one, other in zip(whole[stop:], rest, strict=True):
            np.testing.assert_array_equal(one.rows, other.rows)


def test_homogeneous_batches_are_of_one_source_where_it_can_be(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 600, "fr": 300, "it": 100})
    languages = {}
    for homogeneous in (False, True):
        sampler = make_sampler(store, pairs=50, homogeneous=homogeneous)
        epoch = list(islice(sampler.batches(sampler.start()), 20))
        assert len(np.unique(np.concatenate([batch.rows for batch in epoch]), axis=0)) > 900
        languages[homogeneous] = [len(np.unique(store.language[batch.rows[:, :2]])) - 1 for batch in epoch]
    assert np.mean(languages[False]) > 2
    assert np.sum(np.array(languages[True]) > 1) <= 2  # where one source ends and the next begins


def test_lexical_hard_negatives_share_words(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 800}, vocabulary=300)
    repeats = {}
    for hard in (None, "lexical"):
        sampler = make_sampler(store, pairs=40, homogeneous=True, hard_negatives=hard)
        drawn = list(islice(sampler.batches(sampler.start()), 40))
        for epoch in (drawn[:20], drawn[20:]):
            assert sorted(np.concatenate([batch.rows for batch in epoch])[:, 2]) == list(range(800))
        commonest = [np.bincount(store.take(batch.rows[:, 0], 20).ids).max() for batch in drawn]
        repeats[hard] = np.median(commonest)
    assert repeats["lexical"] > 1.5 * repeats[None]
    with pytest.raises(ValueError, match="set `homogeneous`"):
        BatchSettings(hard_negatives="lexical")


def test_lexical_hard_negatives_do_not_gather_the_copies_of_a_pair(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 100, "fr": 2000}, vocabulary=300)
    examples = PairExamples(store)
    settings = BatchSettings(pairs=50, homogeneous=True, hard_negatives="lexical")
    sampler = Sampler(store, examples, hold_out(store, 0), np.array([0.5, 0.5]), settings, 7)
    drawn = list(islice(sampler.batches(sampler.start()), 40))
    copies = [len(batch.rows) - len(np.unique(batch.rows, axis=0)) for batch in drawn]
    assert sum(copies) < 0.1 * 50 * 40


def test_token_budget_and_equal_shares(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 900})
    sampler = make_sampler(store, pairs=100, tokens=500, processes=3)
    for batch in islice(sampler.batches(sampler.start()), 50):
        lengths = (store.offsets[batch.rows[:, :2] + 1] - store.offsets[batch.rows[:, :2]]).max()
        assert len(batch.rows) % 3 == 0
        assert len(batch.rows) == 6 or 2 * lengths * len(batch.rows) <= 500


def test_held_out_pairs_and_their_repeats_are_never_drawn(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 400, "fr": 400})
    held_out = hold_out(store, 30)
    assert len(held_out.pairs) == 30
    np.testing.assert_array_equal(held_out.pairs, hold_out(store, 30).pairs)
    forbidden = set(store.texts[held_out.pairs[:, :2]].ravel())
    sampler = make_sampler(store, held_out=30, pairs=100)
    for batch in islice(sampler.batches(sampler.start()), 20):
        assert not forbidden & set(store.texts[batch.rows[:, :2]].ravel())


def test_too_few_pairs_is_an_error(tmp_path: Path) -> None:
    sampler = make_sampler(make_store(tmp_path, {"de": 1}), pairs=8)
    with pytest.raises(InputError, match="too few examples"):
        next(sampler.batches(sampler.start()))


def test_pair_batch_holds_the_sentences_of_the_pairs(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"de": 10})
    pairs = store.sources[0].pairs[[3, 7]]
    batch = pair_batch(store, pairs, max_tokens=4)
    for place, row in enumerate([pairs[0, 0], pairs[1, 0], pairs[0, 1], pairs[1, 1]]):
        start, stop = batch.tokens.offsets[place : place + 2]
        expected = store.ids[store.offsets[row] : store.offsets[row + 1]][:4]
        assert batch.tokens.ids[start:stop].tolist() == expected.tolist()
    assert batch.language.tolist() == [0, 0, 1, 1]
    assert batch.meaning.tolist() == [3, 7, 3, 7]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("english", {(1, 0, 0), (1, 2, 0), (3, 4, 1)}),
        ("all", {(1, 0, 0), (1, 2, 0), (0, 2, 0), (3, 4, 1)}),
    ],
)
def test_pairs_of_groups(which: str, expected: set[tuple[int, int, int]]) -> None:
    languages = np.array([1, 0, 2, 1, 2])  # 0 is English; the second group has none
    pairs = group_pairs(np.array([3, 2]), languages, which, english=0)
    assert {tuple(row) for row in pairs.tolist()} == expected


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=12))
def test_equal_hashes_mean_equal_sentences(sentences: list[list[int]]) -> None:
    hashes = text_hashes(Tokens.from_lists(sentences))
    for i, one in enumerate(sentences):
        for j, other in enumerate(sentences):
            assert (hashes[i] == hashes[j]) == (one == other)


def test_prefetch_passes_items_and_errors() -> None:
    def items():
        yield from range(20)
        raise InputError("broken")

    stream = prefetch(items())
    assert list(islice(stream, 20)) == list(range(20))
    with pytest.raises(InputError, match="broken"):
        next(stream)
