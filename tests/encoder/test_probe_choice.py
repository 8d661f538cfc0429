"""Probe pairs: every language and domain has its share, and pairs of a group translate one sentence."""

from pathlib import Path

import numpy as np

from encoder.data.heldout import held_pairs
from encoder.data.store import Store, StoreWriter, TokenBlock
from encoder.default.probe_choice import choose_probes, held_out_pairs
from encoder.tokens import Tokens

SHARE = 0.5


def make_store(folder: Path) -> Store:
    """English with German in two corpora of different text and size, with French in the first and once repeated."""
    rng = np.random.default_rng(0)
    english = {corpus: [rng.integers(0, 9999, 8).tolist() for _ in range(size)] for corpus, size in ((0, 200), (1, 60))}
    writer = StoreWriter(folder, "english")
    for corpus, lang in ((0, "de"), (0, "fr"), (1, "de"), (1, "fr"), (1, "fr")):
        lines = english[corpus]
        both = [side for line in lines for side in (line, rng.integers(0, 9999, 8).tolist())]
        languages = np.tile(np.array([0, 1], np.int16), len(lines))
        writer.add(corpus, TokenBlock(Tokens.from_lists(both), ("en", lang), languages, np.full(len(lines), 2)))
    writer.finish({})
    return Store(folder)


def test_every_domain_has_an_equal_share_and_groups_are_translations(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    held = held_pairs(store, SHARE)
    chosen = choose_probes(store, held, ["a", "b"], quota=30)
    translations = {
        (int(store.texts[left]), int(right)) for source in store.sources for left, right, _ in source.pairs.tolist()
    }
    english = {
        int(group): int(store.texts[row])
        for row, group in zip(chosen.sentences, chosen.group, strict=True)
        if store.languages[store.language[row]] == "en"
    }
    for lang in ("de", "fr"):
        mine = chosen.language == store.languages.index(lang)
        assert mine.sum() == 30 == len(set(chosen.group[mine].tolist()))
        for row, group in zip(chosen.sentences[mine].tolist(), chosen.group[mine].tolist(), strict=True):
            assert (english[group], row) in translations
    for corpus in (0, 1):  # the same English sentences for both languages
        parts = [pairs[:, 0] for pairs, source in zip(held, store.sources, strict=True) if source.corpus == corpus]
        assert len(set(store.texts[np.concatenate(parts)].tolist()) & set(english.values())) == 15


def test_half_of_the_pairs_are_those_that_most_languages_translate(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    english = [rng.integers(0, 9999, 8).tolist() for _ in range(300)]
    writer = StoreWriter(tmp_path, "english")
    for lang, lines in (("de", english[:200]), ("fr", english[150:])):  # 50 in common
        both = [side for line in lines for side in (line, rng.integers(0, 9999, 8).tolist())]
        languages = np.tile(np.array([0, 1], np.int16), len(lines))
        writer.add(0, TokenBlock(Tokens.from_lists(both), ("en", lang), languages, np.full(len(lines), 2)))
    writer.finish({})
    store = Store(tmp_path)
    chosen = choose_probes(store, held_pairs(store, 1.0), ["a"], quota=60)
    groups = [set(chosen.group[chosen.language == store.languages.index(lang)].tolist()) for lang in ("de", "fr")]
    assert [len(group) for group in groups] == [60, 60]
    assert len(groups[0] & groups[1]) >= 30


def test_held_out_pairs_have_each_english_sentence_once(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    pairs = held_out_pairs(store, held_pairs(store, SHARE), ["a", "b"], "fr")
    texts = store.texts[pairs[:, 0]]
    assert 90 < len(pairs) < 170 and len(set(texts.tolist())) == len(texts)
    assert held_out_pairs(store, held_pairs(store, SHARE), ["a", "b"], "ja").shape == (0, 2)


def test_a_corpus_without_domain_gives_no_probes(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    held = held_pairs(store, SHARE)
    words = np.concatenate([pairs[:, 0] for pairs, source in zip(held, store.sources, strict=True) if source.corpus])
    chosen = choose_probes(store, held, ["a", None], quota=30)
    assert not np.isin(store.texts[chosen.sentences], store.texts[words]).any()
    pairs = held_out_pairs(store, held, ["a", None], "fr")
    assert len(pairs) and not np.isin(store.texts[pairs[:, 0]], store.texts[words]).any()
