"""Held-out pairs: the same English sentences in every language, and nothing of them in training."""

from pathlib import Path

import numpy as np

from encoder.data.heldout import held_pairs, hold_out
from encoder.data.store import Store, StoreWriter, TokenBlock
from encoder.tokens import Tokens


def make_store(folder: Path) -> Store:
    """2,000 English sentences, each with German in one corpus and with French in another; and German with French."""
    rng = np.random.default_rng(0)
    lines = {lang: [rng.integers(0, 9999, 8).tolist() for _ in range(2000)] for lang in ("en", "de", "fr")}
    writer = StoreWriter(folder, "english")
    for corpus, (left, right) in enumerate([("en", "de"), ("en", "fr"), ("de", "fr")]):
        both = [sentence for pair in zip(lines[left], lines[right], strict=True) for sentence in pair]
        languages = np.tile(np.array([0, 1], np.int16), 2000)
        writer.add(corpus, TokenBlock(Tokens.from_lists(both), (left, right), languages, np.full(2000, 2)))
    writer.finish({})
    return Store(folder)


def test_a_share_is_the_same_english_in_every_language(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    german, french, direct = held_pairs(store, 0.1)
    assert 120 < len(german) < 280  # a tenth of 2,000; a standard deviation is 13
    assert not len(direct)
    assert set(store.texts[german[:, 0]]) == set(store.texts[french[:, 0]])


def test_nothing_of_a_share_is_trained_on(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    held = hold_out(store, 60, 0.1)
    assert len(held.pairs) == 60
    for source, kept_out in zip(store.sources, held_pairs(store, 0.1), strict=True):
        repeated = held.repeated_by(source.pairs[:, :2], source.pairs[:, 2:], store.texts)
        if "en" in source.langs:
            assert set(np.flatnonzero(repeated)) == set(np.flatnonzero(np.isin(source.pairs[:, 2], kept_out[:, 2])))
        else:  # a sentence that translates a held-out one is not trained on in another pair either
            assert 120 < repeated.sum() < 280


def test_all_of_a_share_stays_out_though_none_is_evaluated(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    held = hold_out(store, 0, 0.1)
    pairs = store.sources[0].pairs
    assert not len(held.pairs) and held.repeated_by(pairs[:, :2], pairs[:, 2:], store.texts).sum() > 120
